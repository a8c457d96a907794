package lead_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// wordy brings agents of 4 cpus that say 16 KiB of themselves each.
func (l *scene) wordy(agents int) {
	attributes := map[string]string{}
	for i := range 64 {
		attributes[fmt.Sprintf("word-%d", i)] = strings.Repeat("x", 248)
	}
	for i := range agents {
		h := lead.NewAgent(&listener{TB: l.TB})
		l.At(l.now)
		l.HandleAgent(h, &wire.RegisterAgent{Agent: offers.Agent{
			Name: fmt.Sprintf("a%d", i), Attributes: attributes, Total: offers.Inventory{Amounts: offers.Amounts{offers.CPUs: 4000}},
		}}, "")
	}
	l.commit()
}

// offered returns how many offers came in each message since the last time.
func (a *author) offered() (counts []int) {
	a.Helper()
	for _, m := range heard[*wire.OffersMessage](a.listener) {
		frame, err := wire.Encode(m, "")
		if err != nil || len(frame) > wire.MaxMessage {
			a.Errorf("a message of %d offers has %d bytes, at most %d are received: %v", len(m.Offers), len(frame), wire.MaxMessage, err)
		}
		counts = append(counts, len(m.Offers))
	}
	return counts
}

// TestOffersOfManyAgents: what is offered in one turn comes in messages that the
// framework takes, whatever agents say of themselves, and all of it comes.
func TestOffersOfManyAgents(t *testing.T) {
	for demand, whole := range map[string]bool{
		`{"id":"all","resources":{"cpus":1}}`:                           false,
		`{"id":"each","resources":{"cpus":4},"count":400}`:              false,
		`{"id":"gang","resources":{"cpus":4},"count":100,"gang":"30s"}`: true, // half a word would be no use
	} {
		l := newScene(t)
		l.wordy(400)
		f := l.author("")
		f.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(demand)}})
		counts, sum := f.offered(), 0
		for _, n := range counts {
			sum += n
		}
		if want := map[bool]int{true: 100, false: 400}[whole]; sum != want || whole != (len(counts) == 1) {
			t.Errorf("%s: %d offers in messages of %v, want %d", demand, sum, counts, want)
		}
	}
}
