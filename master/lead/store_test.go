package lead_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestListOfLongKeys: keys that would not go into a message are not listed at once, and
// all that are fit into one.
func TestListOfLongKeys(t *testing.T) {
	l := newScene(t)
	f := l.author("")
	for i := range 10_000 {
		key := fmt.Sprintf("%05d", i) + strings.Repeat("k", 507)
		f.hand(&wire.StateRequest{Op: "put", Key: key, Value: json.RawMessage("1")})
	}
	l.commit()
	heard[wire.Message](f.listener)
	f.say(&wire.StateRequest{Op: "list"})
	if m := only[*wire.ErrorMessage](f.listener); m.Code != offers.TooLarge {
		t.Errorf("all keys: %s %s", m.Code, m.Message)
	}
	f.say(&wire.StateRequest{Op: "list", Key: "00"})
	if m := only[*wire.StateAnswer](f.listener); len(m.Keys) != 1000 {
		t.Errorf("%d keys begin with 00", len(m.Keys))
	}

	g := l.author("")
	for i := range 1300 {
		g.hand(&wire.StateRequest{Op: "put", Key: fmt.Sprintf("%04d", i) + strings.Repeat("<", 508), Value: json.RawMessage("1")})
	}
	l.commit()
	heard[wire.Message](g.listener)
	for _, key := range []string{"0", ""} {
		g.say(&wire.StateRequest{Op: "list", Key: key})
		for _, m := range g.got {
			if frame, err := wire.Encode(m, "state:1"); err != nil || len(frame) > wire.MaxMessage {
				t.Errorf("the answer to a list of %q has %d bytes: %v", key, len(frame), err)
			}
		}
	}
}
