package cli

import (
	"runtime"
	"testing"
)

func TestPercentFor(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 200, 100 << 20: 200, 256 << 20: 200, 512 << 20: 100, 800 << 20: 64, 1 << 30: 50, 100 << 30: 50} {
		if got := percentFor(inUse); got != want {
			t.Errorf("with %d MiB in use it is %d; want %d", inUse>>20, got, want)
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
