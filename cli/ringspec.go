package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/ringmaster-project/ringmaster/offers"
)

// ringSetting is how one kind is divided into rings: the lower bounds in the
// kind's own units, and the ring up to which a search climbs.
type ringSetting struct {
	bounds []int64
	reach  int
}

// maxRings bounds the rings of one kind.
const maxRings = 4096

// setRings reads the section rings: a kind, and below it lower, width and
// count, or bounds, and reach.
func setRings(s *settings, node ast.Node) error {
	kinds, err := mappingOf(node)
	if err != nil {
		return err
	}
	s.rings = map[string]ringSetting{}
	for _, e := range kinds {
		kind := e.Key.String()
		class, slice := strings.CutSuffix(kind, offers.SliceSuffix)
		if err := wantKind(class); err != nil {
			return placed(e.Key, err)
		}
		if _, scalar := offers.ScalarNamed(class); scalar && slice {
			return placed(e.Key, fmt.Errorf("%q is not a kind of resource: only classes of devices have slices", kind))
		}
		if _, twice := s.rings[kind]; twice {
			return placed(e.Key, fmt.Errorf("%s is given twice", kind))
		}
		if s.rings[kind], err = readRing(kind, e.Value); err != nil {
			var p *placedError
			if errors.As(err, &p) {
				return &placedError{p.line, fmt.Errorf("%s: %w", kind, p.cause)}
			}
			return placed(e.Key, fmt.Errorf("%s: %w", kind, err))
		}
	}
	return nil
}

// ringKeys are the keys of one kind as they were read.
type ringKeys struct {
	lower, width int64
	count, reach int
	bounds       []int64
}

func readRing(kind string, node ast.Node) (ringSetting, error) {
	entries, err := mappingOf(node)
	if err != nil {
		return ringSetting{}, err
	}
	k := ringKeys{width: -1, count: -1, reach: -1}
	for _, e := range entries {
		if err := k.read(kind, e); err != nil {
			return ringSetting{}, placed(e.Key, fmt.Errorf("%s: %w", e.Key.String(), err))
		}
	}
	return k.setting()
}

func (k *ringKeys) read(kind string, e *ast.MappingValueNode) error {
	if e.Key.String() == "bounds" {
		list, ok := e.Value.(*ast.SequenceNode)
		if !ok {
			return errors.New("it is a list of amounts")
		}
		texts, err := scalars(list)
		if err != nil {
			return err
		}
		for _, text := range texts {
			n, err := ringAmount(kind, text)
			if err != nil {
				return err
			}
			if len(k.bounds) > 0 && n <= k.bounds[len(k.bounds)-1] {
				return fmt.Errorf("%s is not above the bound before it", text)
			}
			k.bounds = append(k.bounds, n)
		}
		if len(k.bounds) == 0 || len(k.bounds) > maxRings {
			return fmt.Errorf("%d bounds; 1 to %d", len(k.bounds), maxRings)
		}
		return nil
	}
	text, err := scalar(e.Value)
	if err != nil {
		return err
	}
	switch e.Key.String() {
	case "lower":
		k.lower, err = ringAmount(kind, text)
	case "width":
		k.width, err = ringAmount(kind, text)
	case "count":
		k.count, err = ringNumber(text)
	case "reach":
		k.reach, err = ringNumber(text)
	default:
		err = errors.New("it is none of lower, width, count, bounds and reach")
	}
	return err
}

func (k *ringKeys) setting() (ringSetting, error) {
	equal := k.width >= 0 || k.count >= 0
	switch {
	case equal && k.bounds != nil:
		return ringSetting{}, errors.New("give bounds, or lower, width and count, not both")
	case k.bounds == nil && (k.width <= 0 || k.count < 1):
		return ringSetting{}, errors.New("give bounds, or width above 0 and count")
	case k.bounds == nil && k.width > offers.MaxAmount/int64(k.count):
		return ringSetting{}, errors.New("width times count is too large")
	}
	for i := range max(k.count, 0) {
		k.bounds = append(k.bounds, k.lower+int64(i)*k.width)
	}
	if k.reach < 0 {
		k.reach = len(k.bounds)
	}
	if k.reach > len(k.bounds) {
		return ringSetting{}, fmt.Errorf("reach is %d, and there are %d rings", k.reach, len(k.bounds))
	}
	return ringSetting{bounds: k.bounds, reach: k.reach}, nil
}

func ringNumber(text string) (int, error) {
	n, err := wholeNumber(text)
	if err == nil && (n < 1 || n > maxRings) {
		err = fmt.Errorf("%d; 1 to %d", n, maxRings)
	}
	return n, err
}

// ringAmount reads an amount of a kind: cores, sizes, bits per second, bytes
// of the largest free slice of a class, or a number of wholly free devices.
func ringAmount(kind, text string) (int64, error) {
	if s, scalar := offers.ScalarNamed(kind); scalar {
		return offers.ParseScalar(s, text)
	}
	if strings.HasSuffix(kind, ".slice") {
		return offers.ParseSize(text)
	}
	n, err := wholeNumber(text)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	return int64(n), err
}
