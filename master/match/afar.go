package match

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Follower is a master that does not lead and pre-matches for this one on a
// [Copy] of its agents. No method waits. It belongs to the matcher from
// FollowerJoined to FollowerLeft.
type Follower interface {
	// Send passes a frame on. A follower that can't take it leaves.
	Send(frame []byte)
	// Receive returns the next of its answers, nil where none has come.
	Receive() []byte
	// End has it leave.
	End(reason string)
}

// afar is pre-matching on followers. It is done by form, not by demand: a list
// holds the best agents for everybody who asks for the same, so that it may come
// before the demand does, and the arbiter leaves out whom a quota, a limit or a
// refusal forbids to this one.
//
//	leader                                              follower
//	  changes, the demands of forms that are wanted ──▶   Copy
//	  lists by form                                 ◀──   reads all agents, on all its cores
//	  the next of that form: first of the list,
//	  in which what changed since has its new place
//
// Nothing waits for a follower. A list is used where it is there when a turn
// comes, and the leader reads the agents itself where it is not. What a follower
// was sent and has not taken is bounded by frames, and what came later is told
// as it is then; so one that is stopped costs nothing, and is told all anew when
// the log does not go back as far. A list says up to which version of the agents
// it holds, and names agents by versions: what is late, or of an earlier life of
// the kinds, is known by that, and at worst a search is made that was not needed.
// A follower must rate agents as the leader does: who lets it join sees to it
// that both are of one build.
//
// Followers are told of changes only while demands come that are placed by
// lists.
type afar struct {
	followers []*far
	lists     map[farKey]*farList
	asked     map[uint64]*farList // those that somebody looks for, by number
	number    uint64              // of the latest that was asked for
	used      uint64              // the version when a list was last of interest
	search    search              // for anybody
}

// Bounds of what is under way to a follower and kept of it.
const (
	followersMost = 16 // at a time

	farWindow = 4    // frames that it has not taken
	farWeight = 2048 // of the agents in a frame, see farAgent.weight
	farWants  = 64   // lists that it was asked for
	farBatch  = 64   // changes that wait for each other to be told
	farLists  = 1024 // forms that lists are kept for; past it all are forgotten
	farLength = 256  // candidates of a list
	farOldest = 1024 // changes that a list may be behind, where there are eight times as many agents
)

// far is what the leader knows of one follower.
type far struct {
	Follower
	restart bool // it is to forget all
	told    uint64
	next    int             // the slots from here on were not told yet
	known   []*offers.Agent // by slot, what it was told that agents are

	sent, taken uint64     // frames
	wants       []*farList // to go with the next frame that leaves nothing out
	open        int        // lists that it was asked for, these too
	ended       bool       // it broke the rules
}

func (p *afar) attended() bool { return len(p.followers) > 0 }

// forget drops all lists, and has every follower start again.
func (p *afar) forget(k *kinds) {
	p.search = unbounded(k)
	p.lists, p.asked = map[farKey]*farList{}, map[uint64]*farList{}
	for _, f := range p.followers {
		f.restart, f.wants, f.open = true, nil, 0
	}
}

// FollowerJoined begins to have a follower pre-match, unless enough do.
func (m *Matcher) FollowerJoined(f Follower) {
	p := &m.prematch.afar
	if len(p.followers) == followersMost {
		f.End("enough masters pre-match already")
		return
	}
	p.followers = append(p.followers, &far{Follower: f, restart: true})
}

// FollowerLeft forgets it. One that is not here is no error.
func (m *Matcher) FollowerLeft(f Follower) {
	p := &m.prematch.afar
	i := slices.IndexFunc(p.followers, func(have *far) bool { return have.Follower == f })
	if i < 0 {
		return
	}
	for number, l := range p.asked {
		if l.by == p.followers[i] {
			l.number = 0
			delete(p.asked, number)
		}
	}
	p.followers = slices.Delete(p.followers, i, i+1)
	if !p.attended() {
		m.prematch.log = nil // from here on it would have gaps
	}
}

// askAfar has the follower look for a list that has least to do; where all have
// much nobody does.
func (m *Matcher) askAfar(l *farList, d *demand) {
	p := &m.prematch.afar
	var by *far
	for _, f := range p.followers {
		if f.open < farWants && !f.ended && f.sent-f.taken < farWindow && (by == nil || f.open < by.open) {
			by = f
		}
	}
	if by == nil {
		return
	}
	if l.written == nil {
		l.written = writeForm(d)
	}
	p.number++
	l.number, l.by = p.number, by
	l.looked = &demand{spec: d.spec, owner: anybody, placer: d.placer, plan: d.plan}
	p.asked[l.number] = l
	by.wants = append(by.wants, l)
	by.open++
	m.counters.AfarAsked++
}

// farRoom returns how many lists followers may still be asked for.
func (p *afar) room() int {
	n := 0
	for _, f := range p.followers {
		if !f.ended && f.sent-f.taken < farWindow {
			n += farWants - f.open
		}
	}
	return n
}

// writeForm returns what a list for the demand depends on.
func writeForm(d *demand) []byte {
	one := 1
	text, err := json.Marshal(offers.Demand{
		ID: "form", Count: &one, Resources: d.spec.Resources, Constraints: d.spec.Constraints,
		Placement: d.placer.name, DevicePolicy: d.spec.DevicePolicy,
	})
	if err != nil {
		panic("match: a demand that was valid can't be written: " + err.Error())
	}
	return text
}

// hear takes what followers have answered.
func (m *Matcher) hear() {
	for _, f := range m.prematch.afar.followers {
		for text := f.Receive(); text != nil; text = f.Receive() {
			if f.ended {
				continue
			}
			if err := m.heard(f, text); err != nil {
				f.ended = true
				f.End(err.Error())
			}
		}
	}
}

var errAnswer = errors.New("the answer of a follower makes no sense")

func (m *Matcher) heard(f *far, text []byte) error {
	var in farAnswer
	if err := farDecoding.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Taken < f.taken || in.Taken > f.sent {
		return errAnswer
	}
	f.taken = in.Taken
	if in.Number == 0 {
		return nil
	}
	l := m.prematch.afar.asked[in.Number]
	if l == nil || l.by != f {
		m.counters.AfarLate++ // it was asked for before all was forgotten
		return nil
	}
	delete(m.prematch.afar.asked, in.Number)
	l.number = 0
	f.open--
	best, err := m.readBest(in.Best)
	if err != nil || in.Seen > f.told {
		return errAnswer
	}
	if m.prematch.version-in.Seen > m.farAge() || !m.prematch.logged(in.Seen) {
		m.counters.AfarLate++
		return nil
	}
	l.list = list{best: best, all: in.All, seen: in.Seen}
	l.form, l.column, l.read, l.there, l.used, l.passed = l.looked, l.looked.column, in.Seen, true, false, false
	return nil
}

// readBest reads the candidates of a list.
func (m *Matcher) readBest(text []byte) (out []scored, err error) {
	var score int64
	for len(text) > 0 {
		slot, n := binary.Uvarint(text)
		more, k := binary.Varint(text[max(n, 0):])
		if n <= 0 || k <= 0 {
			return nil, errAnswer
		}
		version, j := binary.Uvarint(text[n+k:])
		if j <= 0 || slot >= uint64(len(m.bySlot)) || len(out) == farLength {
			return nil, errAnswer
		}
		score += more
		out = append(out, scored{int(slot), score, version})
		text = text[n+k+j:]
	}
	return out, nil
}

// appendBest writes them: slots, how much each score is more than the one before,
// and versions.
func appendBest(out []byte, best []scored) []byte {
	var last int64
	for _, c := range best {
		out = binary.AppendUvarint(out, uint64(c.slot))
		out = binary.AppendVarint(out, c.score-last)
		out = binary.AppendUvarint(out, c.version)
		last = c.score
	}
	return out
}

// inform sends followers what they are to know, as far as they take it.
func (m *Matcher) inform() {
	p := &m.prematch
	if !p.afar.attended() || p.version-p.afar.used > logLength {
		return
	}
	for _, f := range p.afar.followers {
		for !f.ended && f.sent-f.taken < farWindow && m.behind(f) {
			text, err := farEncoding.Marshal(m.frame(f))
			if err != nil {
				panic("match: a frame can't be written: " + err.Error())
			}
			f.sent++
			f.Send(text)
		}
	}
}

// behind reports whether there is enough to tell.
func (m *Matcher) behind(f *far) bool {
	p := &m.prematch
	return f.restart || f.next < len(m.bySlot) || len(f.wants) > 0 || p.version-f.told >= farBatch
}

// frame returns the next part of what a follower is to know.
func (m *Matcher) frame(f *far) *farFrame {
	p := &m.prematch
	out := &farFrame{}
	if f.restart || !p.logged(f.told) {
		out.Restart, out.Layouts = true, m.config.Rings
		f.restart, f.told, f.next = false, p.version, 0
		clear(f.known)
	}
	if n := len(m.bySlot) - len(f.known); n > 0 {
		f.known = append(f.known, make([]*offers.Agent, n)...)
	}
	weight := 0
	for f.told < p.version && weight < farWeight {
		slot := p.log[len(p.log)-int(p.version-f.told)]
		f.told++
		switch a := m.bySlot[slot]; {
		case a == nil:
			out.Gone = append(out.Gone, slot)
			f.known[slot] = nil
		case a.version == f.told:
			weight += out.add(a, f)
		}
	}
	for ; f.next < len(m.bySlot) && weight < farWeight; f.next++ {
		if a := m.bySlot[f.next]; a != nil {
			weight += out.add(a, f)
		}
	}
	out.Seen = f.told
	if f.told == p.version && f.next == len(m.bySlot) {
		for _, l := range f.wants {
			out.Wants = append(out.Wants, farWant{Number: l.number, Demand: l.written, Column: m.kinds.columnName(l.looked.column)})
		}
		f.wants = f.wants[:0]
	}
	return out
}
