package lead_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestRefusedDemandIsNamed: of several demands it is said which is refused, also
// where it could not be read, as far as its id can be told.
func TestRefusedDemandIsNamed(t *testing.T) {
	l := newScene(t)
	a := l.author("")
	heard[wire.Message](a.listener)
	a.say(&wire.DemandMessage{Demands: []json.RawMessage{
		[]byte(`{"id":"good","count":1,"resources":{"cpus":1}}`),
		[]byte(`{"id":"negative","count":-1,"resources":{"cpus":1}}`),
		[]byte(`{"resources":{"cpus":"many"},"id":"unread"}`),
		[]byte(`{"id":"` + strings.Repeat("x", 257) + `","resources":{"cpus":1}}`),
		[]byte(`{"id":7}`),
	}})
	var named []string
	for _, e := range heard[*wire.ErrorMessage](a.listener) {
		named = append(named, string(e.DemandID))
	}
	if got := strings.Join(named, ","); got != "negative,unread,," {
		t.Errorf("refused are %q", got)
	}
}
