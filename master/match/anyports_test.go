package match

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestAnyPorts: with every strategy a demand for a number of ports is offered
// so many for each unit, never one twice, and waits for ports when they are all
// taken.
func TestAnyPorts(t *testing.T) {
	for _, by := range offers.Placements() {
		t.Run(string(by), func(t *testing.T) {
			b := newBench(t, Config{})
			b.agent("a", `{"cpus":8,"ports":["31000-31004"]}`)
			f := b.framework("f", "default")
			demand := fmt.Sprintf(`{"id":"d","count":3,"resources":{"cpus":1,"ports":2},"placement":%q}`, by)
			b.demand(f, demand)
			given := b.settle()
			if len(given) != 1 || given[0].Units != 2 || given[0].Held.Ports.Count() != 4 {
				t.Fatalf("offered is %+v", given)
			}
			if got := fmt.Sprint(b.View().Pending); got != "map[ports:1]" {
				t.Errorf("pending is %s", got)
			}
			each := given[0].Held.Ports.Each()
			out := b.launch(given[0], map[string]string{
				"t1": fmt.Sprintf(`{"cpus":1,"ports":[%d,%d]}`, each[0], each[1]),
				"t2": `{"cpus":1,"ports":[31004]}`,
			})
			if len(out.Launches) != 1 || len(out.Updates) != 1 || out.Updates[0].Reason != offers.ReasonTooLarge {
				t.Errorf("launched %+v, told %+v; want t1 alone, since nobody was offered 31004", out.Launches, out.Updates)
			}
			given = b.settle() // 31002 to 31004 are free
			if len(given) != 1 || given[0].Units != 1 || given[0].Held.Ports.Count() != 2 {
				t.Errorf("then offered is %+v", given)
			}
		})
	}
}

// settle lets batches come to their end and returns what was offered.
func (b *bench) settle() (out []*offers.Offer) {
	b.Helper()
	for range 3 {
		out = append(out, b.offered()...)
		b.now = b.now.Add(100 * time.Millisecond)
	}
	return out
}

// TestAnyPortsGoRound: what comes back is not what is offered next.
func TestAnyPortsGoRound(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a", `{"cpus":8,"ports":["31000-31002"]}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1,"ports":1}}`)
	var got []uint16
	for range 4 {
		for _, o := range b.offered() {
			got = append(got, o.Held.Ports.Each()...)
			b.Decline(f, []offers.OfferID{o.ID}, 0, b.now)
		}
	}
	if fmt.Sprint(got) != "[31000 31001 31002 31000]" {
		t.Errorf("one after the other %v were offered", got)
	}
}

// TestAnyPortsOfWholeAgents: an agent with fewer ports is not worth offering.
func TestAnyPortsOfWholeAgents(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("few", `{"cpus":8,"ports":["31000-31001"]}`)
	b.agent("many", `{"cpus":8,"ports":["31000-31002"]}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","resources":{"cpus":1,"ports":3}}`)
	if got := b.places(); got != "[many]" {
		t.Errorf("offered are %s", got)
	}
}
