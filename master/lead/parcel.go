package lead

import (
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// parcel is an agent's peer that gathers what is said to it in a turn: all
// launches in one message, and before them all acknowledgements, which may make
// way for one. Any other message goes behind what is gathered.
type parcel struct {
	peer         Peer
	acknowledged []wire.StatusRef
	launched     []wire.LaunchTask
	term         uint64 // of launched
	weight       int    // of launched, in bytes, without what a launch takes at least
	gathers      bool   // the core has it among those to dispatch
}

var _ Peer = (*parcel)(nil)

// What one message holds at most. It is well below wire.MaxMessage, since texts
// grow when they are encoded.
const (
	parcelAcknowledged = 1000
	parcelLaunched     = 200
	parcelWeight       = 256 << 10
)

// Send implements [Peer].
func (p *parcel) Send(m wire.Message, requestID string) {
	p.flush()
	p.peer.Send(m, requestID)
}

// End implements [Peer].
func (p *parcel) End(reason string) {
	p.flush()
	p.peer.End(reason)
}

func (p *parcel) acknowledge(ref wire.StatusRef) {
	if p.acknowledged = append(p.acknowledged, ref); len(p.acknowledged) == parcelAcknowledged {
		p.flush()
	}
}

// launch adds a launch, of an accept of which more are about to follow.
func (p *parcel) launch(term uint64, t *state.Task, more int) {
	task := t.Spec()
	weight := launchWeight(t, &task)
	if len(p.launched) == parcelLaunched || len(p.launched) > 0 && p.weight+weight > parcelWeight {
		p.flush()
	}
	p.term, p.weight = term, p.weight+weight
	if p.launched == nil { // a list that grows leaves more garbage than it holds
		p.launched = make([]wire.LaunchTask, 0, min(1+more, parcelLaunched, 1+parcelWeight/max(1, weight)))
	}
	p.launched = append(p.launched, wire.LaunchTask{
		Framework: t.Framework, LaunchID: t.LaunchID, User: t.User, Task: task, Holding: *t.Holding, Policy: t.Policy,
	})
}

// launchWeight estimates the bytes of what callers can make large in a launch.
// What is hard to tell goes alone.
func launchWeight(t *state.Task, s *offers.Task) int {
	if s.Container != nil || s.Health != nil || len(s.Artifacts)+len(t.Holding.Devices) > 0 {
		return parcelWeight
	}
	return (&state.Command{Launch: &state.Launch{Task: state.TaskRecord{Spec: *s}}}).Weight() + len(t.User) + len(s.Name) + 16*len(t.Holding.Ports)
}

func (p *parcel) flush() {
	if len(p.acknowledged) > 0 {
		p.peer.Send(&wire.AcknowledgeStatus{Acknowledged: p.acknowledged}, "")
	}
	if len(p.launched) > 0 {
		p.peer.Send(&wire.Launch{Term: p.term, Tasks: p.launched}, "")
	}
	p.acknowledged, p.launched, p.weight = nil, nil, 0
}

// gather has what is put into a parcel sent at the end of the turn, or of the
// batch that was committed.
func (c *Core) gather(p *parcel) *parcel {
	if !p.gathers {
		p.gathers = true
		c.parcels = append(c.parcels, p)
	}
	return p
}

// dispatch sends what was gathered.
func (c *Core) dispatch() {
	for i, p := range c.parcels {
		p.gathers = false
		p.flush()
		c.parcels[i] = nil
	}
	c.parcels = c.parcels[:0]
}
