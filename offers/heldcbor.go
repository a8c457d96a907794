package offers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// What is held stands in Raft's log, in snapshots and in the agents'
// checkpoints as a map from class to a list of grants, as it did when it was a
// map in the program too. The few forms that this needs are written here, since
// this package stands on the standard library alone; the tests hold them against
// the CBOR library that writes and reads all else.
//
// Source: RFC 8949, with the deterministic encoding of its section 4.2.1, by
// which the shorter of two keys comes first.

// The major types of CBOR that occur.
const (
	cborUnsigned = iota << 5
	cborNegative
	_
	cborText
	cborList
	cborMap

	cborNull = 0xf6
)

// MarshalCBOR writes a map of lists by class.
func (d Devices) MarshalCBOR() ([]byte, error) {
	if d == nil {
		return []byte{cborNull}, nil
	}
	if !slices.IsSortedFunc(d, compareKeys) {
		d = slices.Clone(d)
		slices.SortFunc(d, compareKeys)
	}
	out := appendHead(make([]byte, 0, 64), cborMap, uint64(len(d)))
	for i := range d {
		out = appendCBORText(out, d[i].Class)
		if d[i].Grants == nil {
			out = append(out, cborNull)
			continue
		}
		out = appendHead(out, cborList, uint64(len(d[i].Grants)))
		for _, g := range d[i].Grants {
			out = appendHead(out, cborMap, 4)
			out = appendCBORText(appendCBORText(out, "id"), g.ID)
			out = appendCBORInt(appendCBORText(out, "index"), int64(g.Index))
			out = appendCBORInt(appendCBORText(out, "share"), g.Share)
			out = appendCBORInt(appendCBORText(out, "memory"), g.Memory)
		}
	}
	return out, nil
}

func compareKeys(a, b ClassGrants) int {
	return cmp.Or(cmp.Compare(len(a.Class), len(b.Class)), cmp.Compare(a.Class, b.Class))
}

// appendHead appends a major type with its argument in the fewest bytes.
func appendHead(out []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(out, major|byte(n))
	case n <= math.MaxUint8:
		return append(out, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(out, major|27), n)
	}
}

func appendCBORText(out []byte, text string) []byte {
	return append(appendHead(out, cborText, uint64(len(text))), text...)
}

func appendCBORInt(out []byte, n int64) []byte {
	if n < 0 {
		return appendHead(out, cborNegative, uint64(^n))
	}
	return appendHead(out, cborUnsigned, uint64(n))
}

// UnmarshalCBOR reads what MarshalCBOR writes. A class that is named twice and
// a field that no grant has are errors.
func (d *Devices) UnmarshalCBOR(data []byte) error {
	in := cborReader{rest: data}
	out, err := in.devices()
	if err == nil && len(in.rest) > 0 {
		err = errors.New("something follows them")
	}
	if err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	*d = out
	return nil
}

// cborReader goes over what is held in CBOR.
type cborReader struct{ rest []byte }

func (r *cborReader) devices() (Devices, error) {
	n, some, err := r.count(cborMap)
	if err != nil || !some {
		return nil, err
	}
	out := make(Devices, n)
	for i := range out {
		c := &out[i]
		if c.Class, err = r.text(); err != nil {
			return nil, err
		}
		if c.Grants, err = r.grants(); err != nil {
			return nil, fmt.Errorf("%s: %w", clip(c.Class), err)
		}
	}
	slices.SortFunc(out, func(a, b ClassGrants) int { return cmp.Compare(a.Class, b.Class) })
	for i := 1; i < len(out); i++ {
		if out[i].Class == out[i-1].Class {
			return nil, fmt.Errorf("%s is there twice", clip(out[i].Class))
		}
	}
	return out, nil
}

func (r *cborReader) grants() ([]Grant, error) {
	n, some, err := r.count(cborList)
	if err != nil || !some {
		return nil, err
	}
	out := make([]Grant, n)
	for i := range out {
		if err := r.grant(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *cborReader) grant(g *Grant) error {
	n, _, err := r.count(cborMap)
	for last := ""; n > 0 && err == nil; n-- {
		var name string
		if name, err = r.text(); err != nil {
			return err
		}
		switch {
		case cmp.Or(cmp.Compare(len(last), len(name)), cmp.Compare(last, name)) >= 0:
			return fmt.Errorf("%s comes behind %s", clip(name), clip(last))
		case name == "id":
			g.ID, err = r.text()
		case name == "index":
			var index int64
			index, err = r.int()
			g.Index = int(index)
		case name == "share":
			g.Share, err = r.int()
		case name == "memory":
			g.Memory, err = r.int()
		default:
			return fmt.Errorf("%s is no field of a grant", clip(name))
		}
		last = name
	}
	return err
}

var errCBOR = errors.New("not in the form of what is held")

// head reads a major type and its argument.
func (r *cborReader) head() (major byte, n uint64, err error) {
	if len(r.rest) == 0 {
		return 0, 0, errCBOR
	}
	first := r.rest[0]
	r.rest = r.rest[1:]
	if n = uint64(first & 0x1f); n < 24 {
		return first &^ 0x1f, n, nil
	}
	size := 1 << (n - 24)
	if size > 8 || size > len(r.rest) {
		return 0, 0, errCBOR
	}
	n = 0
	for _, b := range r.rest[:size] {
		n = n<<8 | uint64(b)
	}
	r.rest = r.rest[size:]
	return first &^ 0x1f, n, nil
}

// count returns how many elements follow; false where null stands in their place.
func (r *cborReader) count(of byte) (n int, some bool, err error) {
	if len(r.rest) > 0 && r.rest[0] == cborNull {
		r.rest = r.rest[1:]
		return 0, false, nil
	}
	major, count, err := r.head()
	if err == nil && (major != of || count > uint64(len(r.rest))) {
		err = errCBOR
	}
	return int(count), err == nil, err
}

func (r *cborReader) text() (string, error) {
	major, n, err := r.head()
	if err != nil || major != cborText || n > uint64(len(r.rest)) {
		return "", errCBOR
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text, nil
}

func (r *cborReader) int() (int64, error) {
	switch major, n, err := r.head(); {
	case err != nil || n > math.MaxInt64:
	case major == cborUnsigned:
		return int64(n), nil
	case major == cborNegative:
		return ^int64(n), nil
	}
	return 0, errCBOR
}
