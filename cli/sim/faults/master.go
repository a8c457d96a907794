package faults

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers/wire"
	"github.com/ringmaster-project/ringmaster/rings"
)

// master is the shell around the leader's core, as package master is.
type master struct {
	process
	core      *lead.Core    // nil while it does not lead
	term      uint64        // of core
	again     uint64        // how many cores there were in term before
	finishing bool          // the end of the turn is planned
	dues      int           // marks the last planned due
	clock     time.Time     // the latest that core was told
	flying    int           // proposals of core that are not decided
	learns    time.Duration // when it hears what became of the last one
	served    []*served     // its connections
	taken     uint64        // connections of frameworks, ever
	books     *books        // what the judge knows of core
}

func newMaster(w *world, n int) *master {
	m := &master{}
	m.process = process{w: w, name: fmt.Sprintf("master%d", n)}
	m.skewBy(w.options.jump(w))
	m.die = func() {
		m.leaves()
		m.core, m.served = nil, nil
	}
	m.start = func() { m.finishing = false }
	return m
}

// How fast silent agents are given up.
const (
	removalEvery = 3 * time.Second
	removalBurst = 2
)

// layouts has few rings, since the judge looks at all of them after each turn.
var layouts = map[string]rings.Layout{
	"cpus": {Bounds: []int64{0, 1000, 2000}, Reach: 2}, "mem": {Bounds: []int64{0, 2 << 30}, Reach: 1},
	"disk": one, "bandwidth": one, "gpu": one, "gpu.slice": one,
}

var one = rings.Layout{Bounds: []int64{0}, Reach: 1}

// begin leads in a term, from what is replicated.
func (m *master) begin(term uint64) {
	c := m.w.raft
	if c.leader != m || c.term != term {
		return
	}
	if m.core != nil {
		m.stepDown("this master led before")
	}
	o := &m.w.options
	if m.again++; m.term != term {
		m.term, m.again = term, 0
	}
	m.clock, m.flying = m.time(), 0
	m.core = lead.New(lead.Config{
		Master: wire.MasterInfo{Name: m.name, Address: m.name, Term: term}, Again: m.again,
		Match:        match.Config{OfferTimeout: o.offerTimeout, OfferGrace: o.offerTimeout / 4, Rings: layouts},
		AgentTimeout: o.agentTimeout, RemovalEvery: removalEvery, RemovalBurst: removalBurst,
	}, c.state, m.clock)
	m.books = newBooks(m)
	m.w.judge.heard(len(m.w.judge.fresh))
	m.tick(m.core)
	m.turn()
}

// at tells the core the time, which never goes back for it.
func (m *master) at() {
	m.look()
	m.core.At(m.clock)
}

func (m *master) look() {
	if now := m.time(); now.After(m.clock) {
		m.clock = now
	}
}

func (m *master) tick(core *lead.Core) {
	m.after(time.Second, func() {
		if m.core != core {
			return
		}
		m.at()
		m.books.audit()
		core.Tick()
		m.turn()
		m.tick(core)
	})
}

// turn plans the end of the turn: what comes until then shares it.
func (m *master) turn() {
	if m.finishing || m.core == nil {
		return
	}
	m.finishing = true
	m.after(m.w.between(0, time.Millisecond), m.finish)
}

func (m *master) finish() {
	m.finishing = false
	if m.core == nil {
		return
	}
	m.at()
	t := m.core.Finish()
	if m.core == nil {
		return // it died in the midst of it
	}
	m.books.turned(t.Steps)
	for _, n := range t.Notes {
		m.w.tell(m.name, "%s %v", n.Text, n.Args)
	}
	if m.stumble(0.0005) {
		return
	}
	if len(t.Steps) > 0 {
		m.flying++
		m.w.raft.propose(m, t.Steps)
		if m.stumble(0.0005) {
			return
		}
	}
	if t.More {
		m.turn()
	}
	m.dues++
	if due := m.dues; !t.Next.IsZero() {
		m.after(t.Next.Sub(m.clock), func() {
			if due == m.dues {
				m.turn()
			}
		})
	}
}

// conclude acts on what was decided.
func (m *master) conclude(p *proposal, results []state.Result, err error) {
	switch {
	case p.core != m.core || m.core == nil:
	case err != nil:
		m.stepDown("the masters did not agree")
		m.takeUp(p.term)
	default:
		m.at()
		m.flying--
		m.books.touched = true
		m.books.committed(p.steps, results)
		m.core.Committed(p.steps, results, m.w.raft.state)
		m.turn()
	}
}

// takeUp begins anew where m leads the same term still, once all that was
// proposed before is decided.
func (m *master) takeUp(term uint64) {
	c := m.w.raft
	switch {
	case c.leader != m || c.term != term || m.core != nil:
	case len(c.pending) > 0 || !c.leads():
		m.after(20*time.Millisecond, func() { m.takeUp(term) })
	default:
		m.begin(term)
	}
}

func (m *master) stepDown(reason string) {
	m.leaves()
	m.w.tell(m.name, "gives up term %d: %s", m.term, reason)
	m.core.Close(reason)
	m.core = nil
}

// leaves notes whom a leader serves when it leads no more.
func (m *master) leaves() {
	if m.w.raft.leader != m || m.w.raft.term != m.term {
		return
	}
	for _, s := range m.served {
		if s.id != "" && s.books == m.books {
			m.w.judge.away[s.id] = m.w.now
		}
	}
}

// operate runs what an operator asks for.
func (m *master) operate(c state.Command) {
	if m.core == nil {
		return
	}
	m.at()
	m.core.Commit(c, nil)
	m.turn()
}

// dial connects a client to a master: to the leader as the masters know it,
// or to one of them that may believe to lead. It returns nil where nobody
// answers who leads.
func (w *world) dial(client *process) (*master, *end, *end) {
	m := pick(w, w.masters)
	if l := w.raft.leader; l != nil && w.chance(0.7) {
		m = l
	}
	if !m.up || m.paused || m.core == nil || !w.net.reaches(client.name, m.name) || !w.net.reaches(m.name, client.name) {
		return nil, nil, nil
	}
	c, s := w.net.connect(client, &m.process)
	return m, c, s
}
