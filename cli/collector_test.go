package cli

import (
	"runtime"
	"testing"
)

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		inUse, least uint64 // MiB
		want         int
	}{
		{0, 256, 6400}, {4, 256, 6400}, {64, 256, 400}, {128, 256, 200}, {200, 256, 200}, {300, 256, 200}, {400, 256, 156}, {512, 256, 100}, {800, 256, 64}, {1 << 10, 256, 50}, {100 << 10, 256, 50},
		{0, 0, 200}, {100, 0, 200}, {16, 64, 400}, {800, 64, 64},
		{100, 1 << 10, 924}, {800, 1 << 10, 64},
	} {
		if got := percentFor(c.inUse<<20, c.least<<20); got != c.want {
			t.Errorf("with %d MiB in use and %d at least it is %d; want %d", c.inUse, c.least, got, c.want)
		}
	}
}

// TestAfterEachCollection: it is called again and again, with what is in use.
func TestAfterEachCollection(t *testing.T) {
	calls := make(chan uint64, 100)
	afterEachCollection(func(inUse uint64) {
		select {
		case calls <- inUse:
		default:
		}
	})
	held := make([]byte, 64<<20)
	for range 3 {
		runtime.GC()
		if inUse := <-calls; inUse < uint64(len(held)) || inUse > 1<<32 {
			t.Errorf("%d bytes are in use; %d are at least", inUse, len(held))
		}
	}
	runtime.KeepAlive(held)
}
