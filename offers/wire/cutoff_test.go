package wire_test

import (
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestCutOffWhileSending: who is cut off in the middle of what it sends reads
// why, though its own frames find nobody.
func TestCutOffWhileSending(t *testing.T) {
	for range 20 {
		client, server := connect(t, wire.Options{})
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			if _, err := server.Receive(); err == nil {
				server.Close("that was too much")
			}
		}()
		frame := []byte(strings.Repeat("x", 32<<10))
		for range 200 {
			if client.Send(frame) != nil {
				break
			}
		}
		for {
			if _, err := client.Receive(); err != nil {
				if !strings.Contains(err.Error(), "that was too much") {
					t.Errorf("it was cut off with %v", err)
				}
				break
			}
		}
		<-cut
	}
}
