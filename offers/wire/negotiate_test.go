package wire_test

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// upgrading takes connections of a protocol.
func upgrading(t *testing.T, protocol string, opts wire.Options) (url string, links <-chan wire.Link) {
	t.Helper()
	out := make(chan wire.Link, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		link, err := wire.Upgrade(w, r, protocol, opts)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { link.Close("the test is over") })
		out <- link
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http"), out
}

// TestFormIsAgreedOn: both ends want the binary form, or it is JSON. The
// protocols that have none stay as they are.
func TestFormIsAgreedOn(t *testing.T) {
	for _, row := range []struct {
		protocol     string
		server, dial bool
		want         wire.Form
	}{
		{wire.FrameworkProtocol, true, true, wire.Binary},
		{wire.AgentProtocol, true, true, wire.Binary},
		{wire.FrameworkProtocol, true, false, wire.JSON},
		{wire.FrameworkProtocol, false, true, wire.JSON},
		{wire.ExecProtocol, true, true, wire.JSON},
	} {
		url, links := upgrading(t, row.protocol, wire.Options{Compact: row.server})
		here, err := wire.Dial(t.Context(), url, row.protocol, nil, nil, wire.Options{Compact: row.dial})
		if err != nil {
			t.Fatal(err)
		}
		there := <-links
		if here.Form() != row.want || there.Form() != row.want {
			t.Errorf("%+v: one end speaks %v, the other %v", row, here.Form(), there.Form())
		}
		here.Close("done")
	}
}

// TestTermIsTold to who dials, where the other end has one.
func TestTermIsTold(t *testing.T) {
	for _, term := range []uint64{0, 7, math.MaxUint64} {
		url, links := upgrading(t, wire.FrameworkProtocol, wire.Options{Term: term})
		here, err := wire.Dial(t.Context(), url, wire.FrameworkProtocol, nil, nil, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if there := <-links; here.Term() != term || there.Term() != 0 {
			t.Errorf("of the term %d one end hears %d, the other %d", term, here.Term(), there.Term())
		}
		here.Close("done")
	}
}

// TestOtherBuildsSpeakJSON: who has other types of messages names another
// subprotocol, and one that names nothing else is not taken for a peer.
func TestOtherBuildsSpeakJSON(t *testing.T) {
	url, links := upgrading(t, wire.FrameworkProtocol, wire.Options{Compact: true})
	other := wire.FrameworkProtocol + ".bin.00000000"
	for _, row := range []struct{ names, want string }{{other + "," + wire.FrameworkProtocol, wire.FrameworkProtocol}, {other, ""}} {
		d := websocket.Dialer{Subprotocols: strings.Split(row.names, ",")}
		ws, _, err := d.Dial(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		if there := <-links; ws.Subprotocol() != row.want || there.Form() != wire.JSON {
			t.Errorf("%s: %q is agreed on, and %v spoken", row.names, ws.Subprotocol(), there.Form())
		}
	}
}

// TestManyMessagesShareFrames: what is queued arrives whole and in order, in
// fewer frames than messages, whatever the sizes.
func TestManyMessagesShareFrames(t *testing.T) {
	url, links := upgrading(t, wire.FrameworkProtocol, wire.Options{Compact: true})
	here, err := wire.Dial(t.Context(), url, wire.FrameworkProtocol, nil, nil, wire.Options{Compact: true})
	if err != nil {
		t.Fatal(err)
	}
	there := <-links
	var sent, received []byte
	const messages = 2000
	for n := range messages {
		size := n % 50
		if n%500 == 7 {
			size = 100_000 // larger than what is joined
		}
		frame, err := wire.Binary.Encode(&wire.Rescind{Reason: strings.Repeat("x", size)}, "")
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, frame...)
		if err := here.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	frames, seen := 0, 0
	for len(received) < len(sent) {
		frame, err := there.Receive()
		if err != nil {
			t.Fatal(err)
		}
		frames++
		received = append(received, frame...)
		for len(frame) > 0 {
			_, frame = wire.Binary.Cut(frame)
			seen++
		}
	}
	if !bytes.Equal(received, sent) || seen != messages || frames >= messages {
		t.Errorf("%d messages came in %d frames, the same: %v", seen, frames, bytes.Equal(received, sent))
	}
	here.Close("done")
}
