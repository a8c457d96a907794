package match

import (
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestRefusalsAreFew: of what a framework refuses of an agent only what hides more
// or longer than the rest is kept, no more than so much of it, and nothing once
// the agent is gone.
func TestRefusalsAreFew(t *testing.T) {
	b := newBench(t, Config{})
	f := b.frameworks[b.framework("f", "default")]
	b.agent("a1", `{"cpus":20,"mem":"1GiB"}`)
	a := b.bySlot[0]
	amounts := func(cpus, mem int64) offers.Amounts { return offers.Amounts{offers.CPUs: cpus, offers.Mem: mem} }
	refuse := func(cpus, mem, seconds int64, kept int) {
		t.Helper()
		h := offers.Holding{Amounts: amounts(cpus, mem)}
		b.refuse(f, a, &h, b.now, time.Duration(seconds)*time.Second)
		if b.refusals.Len() != kept {
			t.Errorf("%d refusals are kept after %d thousandths of a cpu for %d s, want %d", b.refusals.Len(), cpus, seconds, kept)
		}
		if err := b.check(); err != nil {
			t.Error(err)
		}
	}
	hidden := func(cpus, mem int64, want bool) {
		t.Helper()
		asked := amounts(cpus, mem)
		if f.hidden(a, asked[:]) != want {
			t.Errorf("hidden are %d thousandths of a cpu and %d bytes: %v, want %v", cpus, mem, !want, want)
		}
	}
	refuse(1, 0, 5, 1)
	refuse(1, 0, 40, 1)
	for n := range int64(maxRefusals) {
		refuse(1+n, 0, 40-n, 1+int(n))
	}
	refuse(9, 0, 30, maxRefusals) // would be the first to end
	hidden(9, 0, false)
	hidden(8, 0, true)
	refuse(1, 1, 90, maxRefusals) // hides more than the first, and longer
	refuse(1, 2, 80, maxRefusals) // in place of that which ends first
	hidden(8, 0, false)
	hidden(7, 0, true)
	hidden(1, 2, true)
	b.now = b.now.Add(85 * time.Second)
	b.offered()
	hidden(1, 2, false)
	if hidden(1, 1, true); b.refusals.Len() != 1 {
		t.Errorf("%d refusals are left, want 1", b.refusals.Len())
	}
	gone := *a.info
	gone.State = offers.AgentGone
	b.AgentChanged(&gone)
	if len(f.refused) != 0 || b.refusals.Len() != 0 {
		t.Errorf("of an agent that is gone %d refusals are kept, and %d wait for their end", len(f.refused), b.refusals.Len())
	}
	if err := b.check(); err != nil {
		t.Error(err)
	}
}

// TestRevivesDoNotPileUpRefusals: what was forgotten all at once is not kept
// until its time would have come.
func TestRevivesDoNotPileUpRefusals(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("a1", `{"cpus":8}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"d","resources":{}}`)
	for range 10 {
		b.Decline(f, []offers.OfferID{b.offered()[0].ID}, 24*time.Hour, b.now)
		b.Revive(f)
	}
	b.Decline(f, []offers.OfferID{b.offered()[0].ID}, 24*time.Hour, b.now)
	b.FrameworkOnline(f, true)
	if n := b.refusals.Len(); n != 0 {
		t.Errorf("%d refusals are kept that their framework has forgotten", n)
	}
}
