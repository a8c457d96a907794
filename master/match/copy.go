package match

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/rings"
)

// Copy is what a follower knows of its leader's agents, and pre-matches on: a
// matcher without frameworks, whose agents have the room that the leader says.
// What fair share, limits and refusals forbid is the leader's to know.
//
// Invariant: of the agents that the leader has offered, those that have not
// changed after the version seen are as they are there. So a list leaves out
// anybody that is better than its last, but for those that have changed, whom
// the leader looks at itself.
//
// Not safe for concurrent use.
type Copy struct {
	prematch Prematch
	m        *Matcher
	slots    map[int32]*agent // by the leader's slot
	theirs   map[offers.AgentID]theirs
	taken    uint64 // frames
	seen     uint64
}

// theirs is where the leader has an agent, and which version of it the copy has.
// The matcher counts versions of its own.
type theirs struct {
	slot    int32
	version uint64
}

// NewCopy returns the empty copy of a leader that was just reached.
func NewCopy(p Prematch) *Copy {
	p.Workers = max(p.Workers, 1)
	c := &Copy{prematch: p}
	c.restart(nil)
	return c
}

func (c *Copy) restart(layouts map[string]rings.Layout) {
	c.m = New(Config{Rings: layouts, Prematch: c.prematch}, state.New(), 0)
	c.slots, c.theirs = map[int32]*agent{}, map[offers.AgentID]theirs{}
}

var errFrame = errors.New("what the leader says of its agents makes no sense")

// Take reads a frame of the leader's and answers it: once that it was taken, and
// with every list that it asks for as it is found. answer is called by several
// workers at the same time; it keeps the answer. After an error the copy is of
// no use.
func (c *Copy) Take(frame []byte, answer func([]byte)) error {
	var in farFrame
	if err := farDecoding.Unmarshal(frame, &in); err != nil {
		return err
	}
	if err := c.bring(&in); err != nil {
		return err
	}
	reply := func(out farAnswer) {
		text, err := farEncoding.Marshal(out)
		if err != nil {
			panic("match: an answer can't be written: " + err.Error())
		}
		answer(text)
	}
	c.taken++
	reply(farAnswer{Taken: c.taken})
	asked := make([]*demand, len(in.Wants))
	for i, w := range in.Wants {
		var err error
		if asked[i], err = c.understand(w); err != nil {
			return err
		}
	}
	searches := make([]search, c.prematch.Workers)
	for i := range searches {
		searches[i] = unbounded(c.m.kinds)
	}
	c.m.prematch.Run(len(asked), func(worker, i int) {
		best, all := c.best(&searches[worker], asked[i])
		reply(farAnswer{Taken: c.taken, Number: in.Wants[i].Number, Seen: c.seen, All: all, Best: appendBest(nil, best)})
	})
	return nil
}

// bring brings the copy to where a frame says.
func (c *Copy) bring(in *farFrame) error {
	if in.Restart {
		for kind, l := range in.Layouts {
			if err := l.Validate(); err != nil {
				return fmt.Errorf("rings of %s: %w", kind, err)
			}
		}
		c.restart(in.Layouts)
	}
	for _, slot := range in.Gone {
		c.leave(slot)
	}
	for i := range in.Agents {
		if err := c.put(&in.Agents[i]); err != nil {
			return err
		}
	}
	c.seen = in.Seen
	return nil
}

// leave forgets who had a slot.
func (c *Copy) leave(slot int32) {
	if a := c.slots[slot]; a != nil {
		delete(c.slots, slot)
		delete(c.theirs, a.id)
		c.m.forget(a)
	}
}

// put takes what is said of one agent.
func (c *Copy) put(in *farAgent) error {
	if in.Info != nil {
		if err := in.Info.Total.Validate(); err != nil {
			return err
		}
		if other := c.slots[in.Slot]; other != nil && other.id != in.Info.ID {
			c.leave(in.Slot)
		}
		if old, known := c.theirs[in.Info.ID]; known {
			delete(c.slots, old.slot) // it has moved
		}
		c.m.AgentChanged(&state.Agent{Agent: *in.Info, State: offers.AgentActive})
		c.m.AgentOnline(in.Info.ID, true)
		c.slots[in.Slot] = c.m.agents[in.Info.ID]
	}
	a := c.slots[in.Slot]
	if a == nil {
		return errFrame
	}
	h := offers.Holding{Amounts: in.Used, Ports: in.Ports}
	classes := a.room.Classes()
	if len(classes) != len(in.Classes) {
		return errFrame
	}
	for i, use := range in.Classes {
		of := classes[i].Devices
		if len(use.Used) != len(of) || len(use.Shares) != len(of) {
			return errFrame
		}
		grants := make([]offers.Grant, len(of))
		for d := range of {
			grants[d] = offers.Grant{ID: of[d].ID, Index: d, Memory: use.Used[d], Share: use.Shares[d]}
		}
		h.Devices = append(h.Devices, offers.ClassGrants{Class: classes[i].Name, Grants: grants})
		away := use.Away
		if away == nil {
			away = make([]int64, len(of))
		}
		a.room.Withhold(classes[i].Name, away)
	}
	a.room.Refill(h)
	c.m.moved(a)
	c.theirs[a.id] = theirs{in.Slot, in.Version}
	return nil
}

// anybody states the forms: no quota, limit or refusal is theirs.
var anybody = &framework{}

// unbounded returns a search for anybody's demands.
func unbounded(k *kinds) search {
	s := newSearch(k)
	for i := range s.head {
		s.head[i] = math.MaxInt64
	}
	return s
}

// understand returns the demand that a want is for, with the kind settled that it
// is looked up by.
func (c *Copy) understand(w farWant) (*demand, error) {
	d := &demand{owner: anybody}
	if err := d.spec.UnmarshalJSON(w.Demand); err != nil {
		return nil, err
	}
	d.placer = c.m.placers[d.spec.Placement]
	if d.placer == nil || !d.single() {
		return nil, errFrame
	}
	if _, scores := d.placer.strategy.(scorer); !scores {
		return nil, errFrame
	}
	plan := c.m.planFor(&d.spec)
	if plan.column >= 0 {
		if plan.column = c.m.kinds.columnNamed(w.Column); plan.column < 0 {
			return nil, errFrame
		}
		c.m.index.Settle(rings.Kind(plan.column))
	}
	d.plan = plan
	return d, nil
}

// best returns the best agents for a demand, in the order of their scores and
// then of the rings, under the leader's slots; all says that no other suits. It
// runs beside others and writes to nothing but s.
func (c *Copy) best(s *search, d *demand) (best []scored, all bool) {
	if d.column < 0 {
		return nil, true
	}
	s.m, s.d = c.m, d
	score, seen := d.placer.strategy.(scorer).score, 0
	cursor := c.m.index.Still(rings.Kind(d.column), d.need)
	found := shortlist{most: farLength}
	for at, ok := cursor.Next(); ok; at, ok = cursor.Next() {
		if a := c.m.bySlot[at.Slot]; s.suits(a) {
			found.enter(ranked{scored{slot: at.Slot, score: score(s, a)}, seen})
			seen++
		}
	}
	found.cut()
	for _, r := range found.list {
		at := c.theirs[c.m.bySlot[r.slot].id]
		best = append(best, scored{int(at.slot), r.score, at.version})
	}
	return best, seen <= farLength
}

// shortlist finds the best of many in about the time that it takes to read them,
// also where each is better than the one before.
type shortlist struct {
	most int
	list []ranked // unsorted beyond most
}

// ranked is a candidate and when it was come to.
type ranked struct {
	scored
	rank int
}

func (l *shortlist) enter(r ranked) {
	if n := len(l.list); n >= l.most && n == 2*l.most {
		l.cut()
	}
	l.list = append(l.list, r)
}

// cut keeps the best.
func (l *shortlist) cut() {
	slices.SortFunc(l.list, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.rank, b.rank)) })
	l.list = l.list[:min(len(l.list), l.most)]
}
