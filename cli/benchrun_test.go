package cli

import "testing"

// TestLarger: a warm-up goes on while any of the processes has grown by a twentieth.
func TestLarger(t *testing.T) {
	of := func(sizes ...int64) (all []processShown) {
		for _, n := range sizes {
			all = append(all, processShown{RSS: n})
		}
		return all
	}
	for _, c := range []struct {
		now, before []processShown
		want        bool
	}{
		{of(100, 200), nil, true}, {of(100, 200), of(100, 200), false}, {of(105, 210), of(100, 200), false},
		{of(106, 200), of(100, 200), true}, {of(100, 211), of(100, 200), true}, {of(50, 20), of(100, 200), false},
	} {
		if got := larger(c.now, c.before); got != c.want {
			t.Errorf("%v after %v is larger: %v", c.now, c.before, got)
		}
	}
}
