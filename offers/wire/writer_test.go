package wire

import (
	"testing"
	"time"
)

// TestNothingIsLeftUnwritten: what is sent just when the writer finds nothing
// left to write is written. Over a connection in memory the next frame comes at
// that very time again and again.
func TestNothingIsLeftUnwritten(t *testing.T) {
	c, ws := inMemory(t, Options{})
	defer c.Close("done")
	defer ws.Close()
	if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for n := range 50_000 {
		if err := c.Send([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Fatalf("frame %d: %v", n, err)
		}
	}
}
