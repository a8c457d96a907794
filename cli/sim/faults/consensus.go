package faults

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// consensus stands for Raft: one agreed log, applied to one state.
type consensus struct {
	w       *world
	state   *state.State
	term    uint64
	leader  *master // nil: nobody leads
	run     int     // of the leader: one that was killed leads no more
	missed  int     // checks in a row at which the leader had no majority
	patient int     // checks without a majority until others elect
	voters  []*master
	pending []*proposal
	due     time.Duration // when the last pending proposal is stored by a majority
	slow    time.Duration // how much longer the disks take now and then
}

// proposal is one entry on its way to a majority.
type proposal struct {
	from  *master
	run   int
	core  *lead.Core
	term  uint64
	steps []lead.Step
	entry []byte
	given bool // up: nobody waits for what becomes of it
}

// How often it is looked whether the leader leads.
const (
	electionCheck = 100 * time.Millisecond
	idleCheck     = 300 * time.Millisecond // as long as it did
)

func newConsensus(w *world) *consensus {
	s, _ := state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "c0de-simulated"}}})
	return &consensus{w: w, state: s}
}

// watch elects leaders, for ever.
func (c *consensus) watch() {
	if c.leads() {
		c.missed = 0
		c.w.after(idleCheck, c.watch)
		return
	}
	c.w.after(electionCheck, c.watch)
	if c.missed++; c.missed < c.patient {
		return
	}
	if c.leader != nil {
		c.depose()
	}
	var able []*master
	for _, m := range c.w.masters {
		if c.canLead(m) {
			able = append(able, m)
		}
	}
	if len(able) > 0 {
		c.elect(pick(c.w, able))
	}
}

// canLead reports whether m reaches a majority and hears from it.
func (c *consensus) canLead(m *master) bool {
	if !m.up || m.paused || !slices.Contains(c.voters, m) {
		return false
	}
	votes, n := 0, c.w.net
	for _, o := range c.voters {
		if o == m || o.up && !o.paused && n.reaches(m.name, o.name) && n.reaches(o.name, m.name) {
			votes++
		}
	}
	return votes > len(c.voters)/2
}

// leads reports whether the leader can do its work.
func (c *consensus) leads() bool {
	return c.leader != nil && c.leader.run == c.run && c.canLead(c.leader)
}

// depose ends a leadership. The leader hears of it when it does; what it had
// proposed is decided by the next one.
func (c *consensus) depose() {
	old, term := c.leader, c.term
	old.leaves()
	c.leader = nil
	c.w.tell("consensus", "%s leads no more", old.name)
	old.after(c.w.between(0, 3*time.Second), func() {
		if old.core != nil && old.term <= term {
			old.stepDown("this master leads no more")
		}
	})
}

// elect begins a term. Some of what the last leader proposed had reached the
// new one and is committed now, the rest is lost.
func (c *consensus) elect(m *master) {
	kept := 0
	if len(c.pending) > 0 {
		kept = c.w.rng.IntN(len(c.pending) + 1)
	}
	pending := c.pending
	c.pending = nil
	for i, p := range pending {
		if i < kept {
			c.commit(p)
		}
		p.learn(nil, errLost)
	}
	if c.w.chance(0.05) {
		c.reload()
	}
	c.term += 1 + c.w.rng.Uint64N(2)
	c.leader, c.run, c.missed, c.patient, c.due = m, m.run, 0, 5+c.w.rng.IntN(15), 0
	c.w.report.Terms++
	term := c.term
	c.w.tell("consensus", "term %d: %s leads; of %d entries under way %d are kept", term, m.name, len(pending), kept)
	m.after(c.w.between(time.Millisecond, 50*time.Millisecond), func() { m.begin(term) })
}

var errLost = offers.Errorf(offers.Unavailable, "leadership was lost before a majority of the masters agreed")

// propose takes what a master wants to be committed in a term.
func (c *consensus) propose(m *master, steps []lead.Step) {
	commands := make([]state.Command, len(steps))
	for i := range steps {
		commands[i] = steps[i].Command
	}
	entry, err := state.Encode(commands)
	if err != nil {
		c.w.broken("%s proposes what can't be encoded: %v", m.name, err)
		return
	}
	p := &proposal{from: m, run: m.run, core: m.core, term: m.term, steps: steps, entry: entry}
	if c.leader != m || c.term != m.term || c.run != m.run {
		c.w.report.Fenced++
		p.learn(nil, errLost)
		return
	}
	c.pending = append(c.pending, p)
	c.due = max(c.due, c.w.now+c.w.between(200*time.Microsecond, 15*time.Millisecond))
	if c.slow > 0 && c.w.chance(0.2) {
		c.due += c.w.between(0, c.slow)
	}
	c.w.after(c.due-c.w.now, func() { c.stored(p) })
	if !c.w.healed && c.w.chance(0.002) {
		c.w.fault("outcome of a proposal unknown")
		p.learn(nil, errLost) // it commits all the same, now or later
		p.given = true
	}
}

// stored commits p, once a majority can have it.
func (c *consensus) stored(p *proposal) {
	if len(c.pending) == 0 || c.pending[0].term != p.term || c.leader != p.from {
		return // decided by an election, or waits for one
	}
	if !c.leads() {
		c.w.after(20*time.Millisecond, func() { c.stored(p) })
		return
	}
	for len(c.pending) > 0 {
		first := c.pending[0]
		c.pending = c.pending[1:]
		first.learn(c.commit(first), nil)
		if first == p {
			return
		}
	}
}

// commit applies an entry as every master does: from its bytes.
func (c *consensus) commit(p *proposal) []state.Result {
	batch, err := state.Decode(p.entry)
	if err != nil {
		c.w.broken("an entry can't be read: %v", err)
		return nil
	}
	c.w.report.Commits++
	c.w.mix(p.entry)
	after, results := c.state.Apply(batch)
	c.state = after
	if c.w.options.Trace != nil {
		for i := range batch {
			c.w.tell("consensus", "commits %s (term %d)%s", describe(&batch[i]), p.term, failed(results[i]))
		}
	}
	c.w.judge.committed(batch, results)
	return results
}

func failed(r state.Result) string {
	if r.Err == nil {
		return ""
	}
	return ": refused, " + r.Err.Message
}

// reload puts what a snapshot of the state says in its place.
func (c *consensus) reload() {
	var first, second bytes.Buffer
	if _, err := c.state.WriteTo(&first); err != nil {
		c.w.broken("a snapshot can't be written: %v", err)
		return
	}
	s, err := state.Read(bytes.NewReader(first.Bytes()))
	if err != nil {
		c.w.broken("a snapshot can't be read: %v", err)
		return
	}
	if _, err := s.WriteTo(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		c.w.broken("a snapshot of what was read from a snapshot differs: %v", err)
	}
	c.state = s
	c.w.report.Reloads++
}

// learn tells the proposer, if it still is the one that it was, of its
// proposals in their order.
func (p *proposal) learn(results []state.Result, err error) {
	w, m := p.from.w, p.from
	if p.given {
		return
	}
	m.learns = max(m.learns, w.now+w.between(0, 4*time.Millisecond))
	w.after(m.learns-w.now, func() {
		m.step(p.run, func() { m.conclude(p, results, err) })
	})
}

// describe says in a few words what a command does.
func describe(c *state.Command) string {
	switch {
	case c.RegisterAgent != nil:
		return fmt.Sprintf("agent %s registers as %s", c.RegisterAgent.Agent.Name, cmp.Or(c.RegisterAgent.Agent.ID, "a new one"))
	case c.SetAgentState != nil:
		return fmt.Sprintf("agent %s is %s", c.SetAgentState.ID, c.SetAgentState.State)
	case c.RegisterFramework != nil:
		return fmt.Sprintf("framework %s registers as %s", c.RegisterFramework.Name, cmp.Or(c.RegisterFramework.ID, "a new one"))
	case c.DisconnectFramework != nil:
		return fmt.Sprintf("framework %s is away, until %s", c.DisconnectFramework.ID, c.DisconnectFramework.Deadline.Sub(epoch))
	case c.RemoveFramework != nil:
		return fmt.Sprintf("framework %s is removed", c.RemoveFramework.ID)
	case c.Launch != nil:
		return fmt.Sprintf("launch %s on %s", c.Launch.Task.Ref(), c.Launch.Task.Agent)
	case c.EndTask != nil:
		return fmt.Sprintf("%s ends %s (%s)", c.EndTask.Ref, c.EndTask.Status.State, c.EndTask.Status.UpdateID)
	case c.Acknowledge != nil:
		return fmt.Sprintf("%s is acknowledged", c.Acknowledge.Ref)
	case c.KillTask != nil:
		return fmt.Sprintf("kill %s", c.KillTask.Ref)
	case c.SetRole != nil:
		return fmt.Sprintf("role %s is set to %+v", c.SetRole.Role, c.SetRole.Settings)
	case c.Put != nil:
		return fmt.Sprintf("%s puts %s = %s", c.Put.Framework, c.Put.Key, c.Put.Value)
	case c.Delete != nil:
		return fmt.Sprintf("%s deletes %s", c.Delete.Framework, c.Delete.Key)
	default:
		return "something else"
	}
}
