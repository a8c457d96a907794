package wire_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestFramesOfManySizesKeepTheirOrder: however many wait, and however large
// they are, frames come whole and in order, with pings among them.
func TestFramesOfManySizesKeepTheirOrder(t *testing.T) {
	const frames = 3000
	sizes := []int{1, 100, 5000, 0, 32 << 10, 33, 100_000, 7}
	frame := func(i int) []byte {
		return append(fmt.Appendf(nil, "%d ", i), bytes.Repeat([]byte{'a' + byte(i%26)}, sizes[i%len(sizes)])...)
	}
	options := wire.Options{Ping: time.Millisecond, Bytes: 1 << 30}
	served := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		link, err := wire.Upgrade(w, r, wire.AgentProtocol, options)
		if err != nil {
			served <- err
			return
		}
		for i := range frames {
			if err := link.Send(frame(i)); err != nil {
				served <- err
				return
			}
		}
		served <- nil
		_, _ = link.Receive() // until the other has all of it
		link.Close("all is sent")
	}))
	defer server.Close()
	link, err := wire.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), wire.AgentProtocol, nil, nil, options)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close("the test is over")
	for i := range frames {
		got, err := link.Receive()
		if err != nil || !bytes.Equal(got, frame(i)) {
			t.Fatalf("frame %d is %.20q of %d bytes, %v", i, got, len(got), err)
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
