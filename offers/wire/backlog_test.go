package wire

import (
	"strconv"
	"testing"
)

// TestBacklogOfASteadyStream: where a little always waits, memory is of what
// waits, and not of all that went by; and all of it comes in order.
func TestBacklogOfASteadyStream(t *testing.T) {
	b := newBacklog(Options{Queue: 1000, Bytes: 1 << 20})
	const waits = 10
	for i := range 100_000 {
		if b.push(strconv.AppendInt(nil, int64(i), 10)) != nil {
			t.Fatalf("frame %d found no room behind %d", i, waits)
		}
		if i < waits {
			continue
		}
		if got, ok := b.pop(); !ok || string(got) != strconv.Itoa(i-waits) {
			t.Fatalf("%q came, want %d", got, i-waits)
		}
	}
	if n := cap(b.frames); n > 4*keptFrames {
		t.Errorf("there is room for %d frames where %d wait", n, waits)
	}
}
