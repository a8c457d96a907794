package match

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Explanation says where the next units of a demand would go if it were its
// turn now, and why: found by the search that decides, with what it takes given
// back in the end. Nobody is offered anything, and nothing that anybody is
// offered later depends on it.
type Explanation struct {
	Role       offers.Role
	Placement  offers.Placement
	Prefers    string  // what the strategy looks for, such as "the closest fit"
	Kind       string  // in the rings of which it is looked up; "" where nobody has what it asks for
	Gang       bool    // nothing is offered unless all units have a place
	Suppressed bool    // nothing is offered until its framework revives, wherever there is a place
	Units      int     // explained: those not yet launched or offered, 1 of a whole-agent demand
	Places     []Place // in the order of the units
	Missing    int     // units without a place
	Untried    int     // units that were too many to be tried
	Found      *Trail  // how the first unit got its place, nil when it has none
	Missed     *Trail  // why the first unit without a place has none, nil when all have one
}

// Place is an agent that units would go to, one after the other.
type Place struct {
	Agent offers.AgentID
	Units int
	Ring  offers.RingRef
}

// Trail is one search. Every agent stands in it once: it won, or it could have
// been taken, or one of Reasons is against it.
type Trail struct {
	Looked   []Look // the first that were looked at, in that order
	LookedAt int    // all that were looked at, one by one; the others were passed over by what they have free
	Agents   int    // all that are known
	Suited   int    // of those looked at, the winner included
	Reasons  []Reason
	Winner   *Look
	Next     []Look   // who would win without the winner, then without both, and so on
	Stopped  []string // the kinds that stopped it, see [View].Pending; none where somebody won
	Never    string   // why nobody who is known could ever be taken, see [Hopeless]; "" where somebody could
}

// Look is one agent as a search saw it.
type Look struct {
	Agent   offers.AgentID
	Ring    int      // of the explanation's kind
	Free    int64    // of that kind
	Sum     int      // of the weights of the preferences that it meets
	Score   *float64 // the strategy's, smallest wins; nil where it has none
	Against *Against // nil where it suits
}

// Against is what speaks against an agent first.
type Against struct {
	Code string // one of the Against constants
	What string // the constraint, kind, class or state, as the code says
}

// Why an agent is out.
const (
	AgainstState      = "state"       // What: it is draining, drained, unreachable, or away: it has no connection to this master
	AgainstClosed     = "closed"      // What: why it wants nothing more for now, as it says
	AgainstTooSmall   = "too_small"   // What: the first kind of which it has less in all than is asked
	AgainstShort      = "short"       // What: the first kind of which it has less free than is asked, and enough in all
	AgainstConstraint = "constraint"  // What: the first that it does not meet
	AgainstLimit      = "limit"       // What: the limit that one more unit there would pass
	AgainstPorts      = "ports"       // it has not all the ports free
	AgainstDevices    = "devices"     // no devices of it fit together what is asked of them
	AgainstQuota      = "quota"       // a limit, or what is held back for other roles, stands against it
	AgainstRefused    = "refused"     // the framework declined that much of it lately
	AgainstPreferred  = "preference"  // it suits, and others meet more of what is preferred
	AgainstUnreached  = "not_reached" // it has room, and the strategy had chosen before it came to it
)

// Reason counts the agents that the same speaks against.
type Reason struct {
	Against
	Lack
	Agents int
	Also   []Lack // other kinds of which the same agents have too little, in the same way
}

// Lack is a kind of which agents have less than is asked.
type Lack struct {
	Kind  string // "" where it is no kind that speaks against them
	Asked int64  // 0 of a class that nobody has
	Most  int64  // the most that one of them has of it, in all or free as the code says
}

// The bounds of an explanation. It holds up the loop like a turn of that many
// looks at agents.
const (
	maxExplained = 1000      // units
	maxLooks     = 1_000_000 // units times agents
	runnersUp    = 3
)

// Explain explains a demand that nobody has stated, as if a framework did: the
// one of that id, or where there is none a new one of the role. The first most agents that
// were looked at are named. The demand is valid and is not learned from.
func (m *Matcher) Explain(id offers.FrameworkID, role offers.Role, spec offers.Demand, most int) Explanation {
	f := m.frameworks[id]
	if f == nil {
		f = &framework{role: role}
		f.node = m.fair.enter(role, "?", f)
		defer func() {
			f.node.leaf = nil
			m.fair.prune(f.node)
		}()
	}
	d := &demand{spec: spec, owner: f, at: -1, spread: m.spreadOut(f, &spec), form: &form{key: string(appendShape(nil, &spec))}}
	units := 1
	if d.counted() {
		units = *spec.Count
		d.left = units
	}
	return m.explain(d, units, most)
}

// ExplainStated explains a demand that stands; false where there is none of
// that id.
func (m *Matcher) ExplainStated(id offers.FrameworkID, demand offers.DemandID, most int) (Explanation, bool) {
	f := m.frameworks[id]
	if f == nil || f.demands[demand] == nil {
		return Explanation{}, false
	}
	stands := f.demands[demand]
	d, stopped := *stands, stands.stopped
	d.epoch = 0                // what it was compiled to is the other's
	m.parked.stop(stands, nil) // whose turn it is waits no more
	defer m.parked.stop(stands, stopped)
	units := 1
	if d.counted() {
		units = d.left - d.out
	}
	return m.explain(&d, units, most), true
}

func (m *Matcher) explain(d *demand, units, most int) Explanation {
	m.compile(d)
	e := Explanation{Role: d.owner.role, Placement: d.placer.name, Prefers: d.placer.prefers(), Gang: d.gang(), Suppressed: d.owner.suppressed, Units: units}
	if d.column >= 0 {
		e.Kind = m.kinds.columnName(d.column)
	}
	tries := min(units, maxExplained, max(1, maxLooks/max(1, len(m.agents))))
	rehearsal, searches := m.rehearse(d), d.placer.searches
	defer func() {
		d.placer.searches = searches
		rehearsal.undo()
	}()
	for n := range tries {
		d.placer.searches++ // as a turn counts them: some begin each at another agent
		t, f := m.follow(d, n == 0, most)
		if f.agent == nil {
			e.Missing, e.Missed = units-n, m.retrace(d, t, most)
			return e
		}
		if n == 0 {
			e.Found = t
		}
		e.place(f)
		rehearsal.take(f)
	}
	e.Untried = units - tries
	return e
}

func (e *Explanation) place(f found) {
	if n := len(e.Places); n > 0 && e.Places[n-1].Agent == f.agent.id {
		e.Places[n-1].Units++
		return
	}
	e.Places = append(e.Places, Place{Agent: f.agent.id, Units: 1, Ring: f.ring})
}

// follow searches as a turn does; with noted it returns the trail too.
func (m *Matcher) follow(d *demand, noted bool, most int) (*Trail, found) {
	if !noted {
		return nil, m.find(d)
	}
	t := &trail{at: map[*agent]int{}, scores: map[*agent]float64{}}
	m.search.trail = t
	defer func() { m.search.trail = nil }()
	f := m.find(d)
	take := slices.Clone(m.search.take)
	out := m.trailOf(d, f, t, most)
	copy(m.search.take, take) // the search for those that come next wrote over it
	return out, f
}

// retrace returns the trail of a search that found nobody, if it is not there
// yet.
func (m *Matcher) retrace(d *demand, t *Trail, most int) *Trail {
	if t == nil {
		t, _ = m.follow(d, true, most)
	}
	return t
}

// trail is what a search notes while it is explained.
type trail struct {
	order  []*agent // that were looked at, each once
	found  []objection
	at     map[*agent]int // in order
	scores map[*agent]float64
	won    []*agent // they are out of the searches for who would win next
}

// restart forgets the search so far: the same is searched again, for less.
func (t *trail) restart() {
	if t.won == nil {
		t.order, t.found = nil, nil
		clear(t.at)
		clear(t.scores)
	}
}

// look notes an agent that was looked at, in the search for the winner, and
// returns what speaks against it.
func (t *trail) look(a *agent, against objection) objection {
	if slices.Contains(t.won, a) {
		return byWinning
	}
	if _, seen := t.at[a]; !seen && t.won == nil {
		t.at[a] = len(t.order)
		t.order, t.found = append(t.order, a), append(t.found, against)
	}
	return against
}

// rated notes what score a strategy gave an agent.
func (s *search) rated(a *agent, score float64) {
	if s.trail != nil {
		s.trail.scores[a] = score
	}
}

// objection is what speaks against an agent that has enough of every column.
type objection uint8

const (
	nothing objection = iota
	byConstraint
	byLimit
	byPorts
	byDevices
	byQuota
	byRefusal
	byPreference
	byWinning // it has won already
)

// objections is a set of them, by bit.
type objections uint8

// trailOf makes a trail of what a search noted and found.
func (m *Matcher) trailOf(d *demand, f found, t *trail, most int) *Trail {
	out := &Trail{LookedAt: len(t.order), Agents: len(m.agents)}
	reasons := map[string]*Reason{}
	for i, a := range t.order {
		l := m.look(d, t, a, m.objectionOf(d, a, t.found[i]))
		if len(out.Looked) < most {
			out.Looked = append(out.Looked, l)
		}
		if l.Against == nil {
			out.Suited++
			continue
		}
		m.countReason(reasons, d, a, *l.Against)
	}
	for _, a := range m.agents {
		if _, looked := t.at[a]; !looked {
			m.countReason(reasons, d, a, m.passedOver(d, a, f.quota))
		}
	}
	for _, r := range reasons {
		out.Reasons = append(out.Reasons, *r)
	}
	slices.SortFunc(out.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Agents, a.Agents), strings.Compare(a.Code, b.Code), strings.Compare(a.What, b.What))
	})
	if f.agent == nil {
		out.Stopped, out.Never = m.stopped(d, f), m.never(d)
		return out
	}
	winner := m.look(d, t, f.agent, nil)
	out.Winner = &winner
	for a := f.agent; a != nil && len(t.won) <= runnersUp; {
		t.won = append(t.won, a)
		if a = m.search.prefer(d.placer.strategy); a != nil && len(out.Next) < runnersUp {
			out.Next = append(out.Next, m.look(d, t, a, nil))
		}
	}
	return out
}

func (m *Matcher) look(d *demand, t *trail, a *agent, against *Against) Look {
	l := Look{Agent: a.id, Ring: m.index.Ring(rings.Kind(d.column), a.columns[d.column]), Free: a.columns[d.column], Sum: d.spec.Preferred(&a.info.Agent), Against: against}
	if score, rated := t.scores[a]; rated {
		l.Score = &score
	}
	return l
}

// countReason adds an agent to those that the same speaks against, by all the
// kinds of which it has too little.
func (m *Matcher) countReason(reasons map[string]*Reason, d *demand, a *agent, why Against) {
	var lacks []Lack
	if why.Code == AgainstShort || why.Code == AgainstTooSmall {
		lacks = m.lacks(d, a, why.Code)
	}
	key := why.Code + " " + why.What
	for _, l := range lacks {
		key += " " + l.Kind
	}
	r := reasons[key]
	if r == nil {
		r = &Reason{Against: why}
		if len(lacks) > 0 {
			r.Lack, r.Also = lacks[0], lacks[1:]
		}
		reasons[key] = r
	}
	r.Agents++
	for i, l := range lacks {
		have := &r.Lack
		if i > 0 {
			have = &r.Also[i-1]
		}
		have.Most = max(have.Most, l.Most)
	}
}

// lacks lists the kinds of which an agent has too little, in all or free as the
// code says: first the classes that nobody has, then in the order of the kinds.
func (m *Matcher) lacks(d *demand, a *agent, code string) (out []Lack) {
	if code == AgainstTooSmall {
		for _, kind := range m.unknownKinds(d) {
			out = append(out, Lack{Kind: kind})
		}
	}
	for c, n := range d.need[:m.kinds.ringed()] {
		have := max(a.columns[c], 0)
		if code == AgainstTooSmall {
			have = m.kinds.most(a, c)
		}
		if n > have {
			out = append(out, Lack{m.kinds.columnName(c), n, have})
		}
	}
	return out
}

// objectionOf says in words what spoke against an agent that was looked at.
func (m *Matcher) objectionOf(d *demand, a *agent, by objection) *Against {
	switch by {
	case byConstraint:
		for _, c := range d.spec.Constraints {
			if !c.Met(&a.info.Agent) {
				return &Against{AgainstConstraint, c.String()}
			}
		}
	case byLimit:
		return &Against{AgainstLimit, d.spread.limits[d.spread.full(a)].String()}
	case byPorts:
		return &Against{Code: AgainstPorts}
	case byDevices:
		return &Against{AgainstDevices, strings.Join(slices.Sorted(maps.Keys(d.spec.Resources.Devices)), ", ")}
	case byQuota:
		return &Against{Code: AgainstQuota}
	case byRefusal:
		return &Against{Code: AgainstRefused}
	case byPreference:
		return &Against{Code: AgainstPreferred}
	}
	return nil
}

// passedOver says why a search did not look at an agent.
func (m *Matcher) passedOver(d *demand, a *agent, quota bool) Against {
	switch {
	case a.info.State != offers.AgentActive:
		return Against{AgainstState, string(a.info.State)}
	case !a.online:
		return Against{AgainstState, "away"}
	case a.slot < 0:
		return Against{AgainstClosed, a.closed}
	}
	for _, code := range []string{AgainstTooSmall, AgainstShort} {
		if lacks := m.lacks(d, a, code); len(lacks) > 0 {
			return Against{code, lacks[0].Kind}
		}
	}
	if quota {
		return Against{Code: AgainstQuota}
	}
	return Against{Code: AgainstUnreached}
}

// most returns how much of a ringed column an agent would have with nothing
// given away.
func (k *kinds) most(a *agent, column int) int64 {
	if column < scalars {
		return a.total[column]
	}
	c := a.classes[(column-scalars)/2].room
	if c == nil {
		return 0
	}
	if (column-scalars)%2 == 0 {
		return int64(len(c.Devices))
	}
	var most int64
	for _, d := range c.Devices {
		most = max(most, d.Capacity)
	}
	return most
}
