package offers

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Scalar is a resource kind that is a plain number on every agent.
type Scalar int

// The scalar kinds in their fixed order; device classes follow by name.
const (
	CPUs      Scalar = iota // thousandths of a core
	Mem                     // bytes
	Disk                    // bytes
	Bandwidth               // bits per second
	Scalars                 // how many there are
)

var scalarNames = [Scalars]string{"cpus", "mem", "disk", "bandwidth"}

func (s Scalar) String() string { return scalarNames[s] }

// ScalarNamed returns the kind of that name.
func ScalarNamed(name string) (Scalar, bool) {
	for s, n := range scalarNames {
		if n == name {
			return Scalar(s), true
		}
	}
	return 0, false
}

// MaxAmount is the largest amount of any kind that one agent or one demand
// may name: the largest integer that every JSON reader holds exactly. It
// leaves room to add up a thousand agents of that size without overflow.
const MaxAmount = 1<<53 - 1

// Amounts is one integer per scalar kind, in the units of [Scalar]. The zero
// value is nothing at all.
type Amounts [Scalars]int64

// Plus returns a + b, kind by kind, saturating at the largest int64.
func (a Amounts) Plus(b Amounts) Amounts {
	for k := range a {
		if sum := a[k] + b[k]; b[k] > 0 && sum < a[k] {
			a[k] = int64(^uint64(0) >> 1)
		} else {
			a[k] = sum
		}
	}
	return a
}

// Minus returns a - b, kind by kind; the result may be negative.
func (a Amounts) Minus(b Amounts) Amounts {
	for k := range a {
		a[k] -= b[k]
	}
	return a
}

// Times returns n * a.
func (a Amounts) Times(n int64) Amounts {
	for k := range a {
		a[k] *= n
	}
	return a
}

// Within reports whether a is at most b in every kind.
func (a Amounts) Within(b Amounts) bool {
	for k := range a {
		if a[k] > b[k] {
			return false
		}
	}
	return true
}

// ParseScalar reads an amount of kind s as people write it: cores with at
// most three decimals, sizes with a unit of [ParseSize], bandwidth in bits
// per second with bps, Kbps, Mbps, Gbps or Tbps.
func ParseScalar(s Scalar, text string) (int64, error) {
	switch s {
	case CPUs:
		return exact(text, text, 1000, "finer than a thousandth")
	case Bandwidth:
		return parseUnits(text, bandwidthUnits)
	default:
		return ParseSize(text)
	}
}

// ParseQuota reads an amount of a role's quota: a scalar kind as [ParseScalar]
// does, a device class as the memory of its devices. A small number without a
// unit would be meant as a number of devices, of which nobody could tell the
// size, so it is refused.
func ParseQuota(kind, text string) (int64, error) {
	if s, scalar := ScalarNamed(kind); scalar {
		return ParseScalar(s, text)
	}
	if err := validClass(kind); err != nil {
		return 0, fmt.Errorf("%q is no kind of resource: cpus, mem, disk, bandwidth or a device class", clip(kind))
	}
	n, err := ParseSize(text)
	if err == nil && n > 0 && n < smallSize && !strings.HasSuffix(text, "B") {
		return 0, fmt.Errorf("%s would be %s bytes: a device class is counted in the memory of its devices, so give a size such as 48GiB", clip(text), clip(text))
	}
	return n, err
}

// smallSize is less memory than any task or device has, and more than any
// number of them.
const smallSize = 1 << 20

// WantUnit returns an error for n bytes of memory or disk that were read from
// text without a unit and are less than 1 MiB: who writes 512 means MiB, and a
// task with 512 bytes ends before it can say anything. It is for what people
// write, and not for messages, in which a number is of bytes; "512B" is of
// bytes for people, too.
func WantUnit(text string, n int64) error {
	if n > 0 && n < smallSize && !strings.HasSuffix(text, "B") {
		return fmt.Errorf("%s would be %s bytes: give a size with its unit, such as 512MiB", clip(text), clip(text))
	}
	return nil
}

// ParseSize reads a number of bytes: an integer, or a number with one of
// B KiB MiB GiB TiB PiB kB MB GB TB PB that comes to whole bytes. The error for
// a unit as others write it, such as 5G or 512m, names ours.
func ParseSize(text string) (int64, error) {
	n, err := parseUnits(text, sizeUnits)
	if err == nil {
		return n, nil
	}
	number := strings.TrimRight(text, "kmgtpibKMGTPIB")
	suffix := text[len(number):]
	ours := slices.ContainsFunc(sizeUnits, func(u unit) bool { return u.suffix == suffix })
	if other := strings.ToUpper(suffix); !ours && plainNumber(number) && slices.Contains(otherUnits, strings.TrimSuffix(other, "B")) {
		return 0, fmt.Errorf("%q is not an amount; did you mean %s%ciB?", clip(text), number, other[0])
	}
	return 0, err
}

// FormatSize writes bytes without loss, as ParseSize reads them, in the largest
// unit that they are a whole number of: "24GiB", "81559MiB", "100B".
func FormatSize(bytes int64) string {
	best := unit{"B", 1}
	for _, u := range sizeUnits {
		if bytes != 0 && u.factor&(u.factor-1) == 0 && u.factor > best.factor && bytes%u.factor == 0 {
			best = u
		}
	}
	return strconv.FormatInt(bytes/best.factor, 10) + best.suffix
}

// FormatKind writes an amount of a kind as messages have it: cpus in cores, all
// else as integers.
func FormatKind(kind string, n int64) string {
	if kind == CPUs.String() {
		return FormatCPUs(n)
	}
	return strconv.FormatInt(n, 10)
}

// FormatCPUs writes thousandths of a core as cores, "1.5".
func FormatCPUs(milli int64) string {
	sign := ""
	if milli < 0 {
		sign, milli = "-", -milli
	}
	whole, rest := milli/1000, milli%1000
	if rest == 0 {
		return sign + strconv.FormatInt(whole, 10)
	}
	return sign + strings.TrimRight(fmt.Sprintf("%d.%03d", whole, rest), "0")
}

type unit struct {
	suffix string
	factor int64
}

var sizeUnits = []unit{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1},
}

// otherUnits are those of other programs, in capitals and without a B.
var otherUnits = []string{"K", "KI", "M", "MI", "G", "GI", "T", "TI", "P", "PI"}

var bandwidthUnits = []unit{
	{"Kbps", 1e3}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}, {"bps", 1},
}

func parseUnits(text string, units []unit) (int64, error) {
	for _, u := range units {
		if number, found := strings.CutSuffix(text, u.suffix); found {
			return exact(strings.TrimSpace(number), text, u.factor, "not a whole number of units")
		}
	}
	return exact(text, text, 1, "not a whole number")
}

// exact returns number*factor, which must be a whole number from 0 to
// MaxAmount. It never passes through floating point; messages quote what was
// written.
func exact(number, written string, factor int64, tooFine string) (int64, error) {
	if !plainNumber(number) {
		return 0, fmt.Errorf("%q is not an amount", clip(written))
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("%q is not an amount", clip(written))
	}
	r.Mul(r, new(big.Rat).SetInt64(factor))
	switch {
	case r.Sign() < 0:
		return 0, fmt.Errorf("%s is negative", clip(written))
	case !r.IsInt():
		return 0, fmt.Errorf("%s is %s", clip(written), tooFine)
	case !r.Num().IsInt64() || r.Num().Int64() > MaxAmount:
		return 0, fmt.Errorf("%s is too large", clip(written))
	}
	return r.Num().Int64(), nil
}

// plainNumber keeps the forms that big.Rat reads but people don't write
// (fractions, hexadecimal, exponents that would fill the memory) out.
func plainNumber(text string) bool {
	if text == "" || len(text) > 40 {
		return false
	}
	mantissa, exponent, has := strings.Cut(strings.ToLower(text), "e")
	if has {
		if n, err := strconv.Atoi(exponent); err != nil || n > 20 || n < -20 {
			return false
		}
	}
	mantissa = strings.TrimLeft(mantissa, "+-")
	return mantissa != "" && mantissa != "." && strings.Trim(mantissa, "0123456789.") == ""
}

func clip(text string) string {
	if len(text) > 60 {
		return text[:57] + "..."
	}
	return text
}
