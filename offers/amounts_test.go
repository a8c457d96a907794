package offers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	tib = 1 << 40
)

// refused is the want of a table row whose input must be refused.
const refused = -1

func TestParseScalar(t *testing.T) {
	for _, row := range []struct {
		kind offers.Scalar
		text string
		want int64
	}{
		{offers.CPUs, "0", 0},
		{offers.CPUs, "-0", 0},
		{offers.CPUs, "1", 1000},
		{offers.CPUs, "1.5", 1500},
		{offers.CPUs, ".5", 500},
		{offers.CPUs, "2.", 2000},
		{offers.CPUs, "0.001", 1},
		{offers.CPUs, "0.0010", 1},
		{offers.CPUs, "1e-3", 1},
		{offers.CPUs, "1.5e2", 150_000},
		{offers.CPUs, "1E2", 100_000},
		{offers.CPUs, "+4", 4000},
		{offers.CPUs, "0.1", 100}, // 0.1*1000 is no whole number in floating point
		{offers.CPUs, "4.35", 4350},
		{offers.CPUs, "9007199254740.991", offers.MaxAmount},
		{offers.CPUs, "9007199254740.992", refused},
		{offers.CPUs, "0.0005", refused},
		{offers.CPUs, "1e-4", refused},
		{offers.CPUs, "-1", refused},
		{offers.CPUs, "-0.001", refused},
		{offers.CPUs, "NaN", refused},
		{offers.CPUs, "Infinity", refused},
		{offers.CPUs, "inf", refused},
		{offers.CPUs, "1e400", refused},
		{offers.CPUs, "1e999999999", refused},
		{offers.CPUs, "1e-999999999", refused},
		{offers.CPUs, "99999999999999999999", refused},
		{offers.CPUs, strings.Repeat("9", 5000), refused},
		{offers.CPUs, "null", refused},
		{offers.CPUs, "true", refused},
		{offers.CPUs, "", refused},
		{offers.CPUs, " ", refused},
		{offers.CPUs, ".", refused},
		{offers.CPUs, "-", refused},
		{offers.CPUs, "e", refused},
		{offers.CPUs, "1e", refused},
		{offers.CPUs, "e3", refused},
		{offers.CPUs, "1.2.3", refused},
		{offers.CPUs, "--1", refused},
		{offers.CPUs, "1/2", refused},
		{offers.CPUs, "0x10", refused},
		{offers.CPUs, "1_000", refused},
		{offers.CPUs, "1,5", refused},
		{offers.CPUs, "500m", refused},
		{offers.CPUs, "١", refused},

		{offers.Mem, "0", 0},
		{offers.Mem, "1024", kib},
		{offers.Mem, "512MiB", 512 * mib},
		{offers.Mem, "1.5GiB", 3 * gib / 2},
		{offers.Mem, "0.5KiB", 512},
		{offers.Mem, "1 GiB", gib},
		{offers.Mem, "1e3", 1000},
		{offers.Mem, "1e3kB", 1_000_000},
		{offers.Mem, "1kB", 1000},
		{offers.Mem, "1KB", 1000},
		{offers.Mem, "1MB", 1_000_000},
		{offers.Mem, "7B", 7},
		{offers.Disk, "2TiB", 2 * tib},
		{offers.Disk, "3TB", 3e12},
		{offers.Disk, "7PiB", 7 << 50},
		{offers.Mem, "9007199254740991", offers.MaxAmount},
		{offers.Mem, "9007199254740992", refused},
		{offers.Mem, "8PiB", refused}, // one byte too many
		{offers.Mem, "9223372036854775808", refused},
		{offers.Mem, "18446744073709551616", refused},
		{offers.Mem, "17179869184GiB", refused}, // 2^64: wraps to 0 in 64 bits
		{offers.Mem, "0.5", refused},
		{offers.Mem, "1.5B", refused},
		{offers.Mem, "0.0001KiB", refused},
		{offers.Mem, "-1MiB", refused},
		{offers.Mem, "MiB", refused},
		{offers.Mem, "1mib", refused},
		{offers.Mem, "1Gb", refused},
		{offers.Mem, "1GiBB", refused},
		{offers.Mem, "1e400GiB", refused},
		{offers.Mem, "NaNGiB", refused},

		{offers.Bandwidth, "5", 5},
		{offers.Bandwidth, "5bps", 5},
		{offers.Bandwidth, "10Kbps", 10_000},
		{offers.Bandwidth, "10kbps", 10_000},
		{offers.Bandwidth, "100Mbps", 100e6},
		{offers.Bandwidth, "2.5Gbps", 2.5e9},
		{offers.Bandwidth, "1Tbps", 1e12},
		{offers.Bandwidth, "1GiB", refused},
		{offers.Bandwidth, "0.5bps", refused},
		{offers.Bandwidth, "10000Tbps", refused},
	} {
		got, err := offers.ParseScalar(row.kind, row.text)
		switch {
		case row.want == refused && err == nil:
			t.Errorf("%s %.60q: got %d, want it refused", row.kind, row.text, got)
		case row.want == refused:
			if len(err.Error()) > 200 {
				t.Errorf("%s %.60q: the message is %d bytes long", row.kind, row.text, len(err.Error()))
			}
		case err != nil:
			t.Errorf("%s %q: %v", row.kind, row.text, err)
		case got != row.want:
			t.Errorf("%s %q: got %d, want %d", row.kind, row.text, got, row.want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1025: "1025B", 5120: "5KiB", 24 << 30: "24GiB", 1536 << 20: "1536MiB", 81559 << 20: "81559MiB",
		1 << 40: "1TiB", 3 << 50: "3PiB", offers.MaxAmount: "9007199254740991B",
	} {
		if got := offers.FormatSize(bytes); got != want {
			t.Errorf("%d bytes: got %q, want %q", bytes, got, want)
		}
		if back, err := offers.ParseSize(want); err != nil || back != bytes {
			t.Errorf("%q: read back as %d, %v", want, back, err)
		}
	}
}

func TestFormatCPUs(t *testing.T) {
	for milli, want := range map[int64]string{
		0: "0", 1: "0.001", 10: "0.01", 100: "0.1", 120: "0.12", 999: "0.999", 1000: "1", 1500: "1.5",
		10_000: "10", 10_050: "10.05", -1500: "-1.5", -1: "-0.001", offers.MaxAmount: "9007199254740.991",
	} {
		if got := offers.FormatCPUs(milli); got != want {
			t.Errorf("%d thousandths: got %q, want %q", milli, got, want)
		}
		if milli < 0 {
			continue
		}
		if back, err := offers.ParseScalar(offers.CPUs, want); err != nil || back != milli {
			t.Errorf("%q: read back as %d, %v", want, back, err)
		}
	}
}

func TestScalarNamed(t *testing.T) {
	for s := range offers.Scalars {
		if got, ok := offers.ScalarNamed(s.String()); !ok || got != s {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
	for _, name := range []string{"", "CPUS", "gpu", "ports", "memory"} {
		if got, ok := offers.ScalarNamed(name); ok {
			t.Errorf("%q is taken for %s", name, got)
		}
	}
}

func TestAmounts(t *testing.T) {
	a, b := offers.Amounts{1, 2, 3, 4}, offers.Amounts{10, 20, 30, 40}
	if got := a.Plus(b); got != (offers.Amounts{11, 22, 33, 44}) {
		t.Errorf("plus: %v", got)
	}
	if got := a.Minus(b); got != (offers.Amounts{-9, -18, -27, -36}) {
		t.Errorf("minus: %v", got)
	}
	if got := a.Times(3); got != (offers.Amounts{3, 6, 9, 12}) {
		t.Errorf("times: %v", got)
	}
	if got := (offers.Amounts{math.MaxInt64 - 1}).Plus(offers.Amounts{5}); got[0] != math.MaxInt64 {
		t.Errorf("plus does not saturate: %v", got)
	}
	if got := (offers.Amounts{5}).Plus(offers.Amounts{-7}); got[0] != -2 {
		t.Errorf("plus of a negative: %v", got)
	}
	for k := range a {
		larger := a
		larger[k]++
		if larger.Within(a) || !a.Within(larger) || !a.Within(a) {
			t.Errorf("within is wrong in %s", offers.Scalar(k))
		}
	}
}

func TestParseSizeNamesOurUnit(t *testing.T) {
	for text, meant := range map[string]string{
		"5G": "5GiB", "512m": "512MiB", "1.5g": "1.5GiB", "16Mi": "16MiB", "2gb": "2GiB", "2gib": "2GiB", "7k": "7KiB", "1T": "1TiB",
		"12Q": "", "G": "", "": "", "5 apples": "", "1.5": "", "0.5B": "", "-1MiB": "", "1bb": "", "1GG": "", "1.0000001MB": "",
	} {
		_, err := offers.ParseSize(text)
		if err == nil {
			t.Errorf("%q is taken", text)
		} else if _, got, _ := strings.Cut(err.Error(), "did you mean "); got != "" && got != meant+"?" || got == "" && meant != "" {
			t.Errorf("%q: %v; want it to name %q", text, err, meant)
		}
	}
}

func TestWantUnit(t *testing.T) {
	for text, fine := range map[string]bool{"0": true, "1": false, "512": false, "1e3": false, "1048575": false, "1048576": true, "512B": true, "1KiB": true} {
		n, err := offers.ParseSize(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := offers.WantUnit(text, n); (err == nil) != fine {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseQuota(t *testing.T) {
	for _, row := range []struct {
		kind, text string
		want       int64
	}{
		{"cpus", "1.5", 1500},
		{"mem", "7", 7},
		{"bandwidth", "1Gbps", 1e9},
		{"gpu", "0", 0},
		{"gpu", "48GiB", 48 * gib},
		{"gpu", "51539607552", 48 * gib}, // as answers give it
		{"gpu", "1048576", mib},
		{"gpu", "2B", 2},
		{"gpu", "2", refused}, // devices? of what size?
		{"gpu", "1048575", refused},
		{"gpu", "1e1", refused},
		{"gpu.slice", "48GiB", refused},
		{"ports", "3", refused},
		{"a b", "48GiB", refused},
		{"", "1", refused},
	} {
		got, err := offers.ParseQuota(row.kind, row.text)
		if err != nil {
			got = refused
		}
		if got != row.want {
			t.Errorf("%s=%s is %d (%v), want %d", row.kind, row.text, got, err, row.want)
		}
	}
}
