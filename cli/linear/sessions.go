package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringmaster-project/ringmaster/offers"
)

// overdueSlack is how long after its deadline a framework may be removed: the
// masters must have noticed that it left, and one of them must lead.
const overdueSlack = time.Minute

// reign is which connection of a framework is acted upon.
type reign struct {
	conn    int
	removed bool
}

// sessionModel is the registration of one framework. What is answered on a
// connection, be it with an error about the request, was acted upon.
func sessionModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return reign{} },
		Step: func(state, input, _ any) (bool, any) {
			r, o := state.(reign), input.(*Op)
			switch {
			case o.Kind == lapse, o.Kind == overdue, o.Kind == Teardown:
				return true, reign{removed: true}
			case o.Kind == Register && o.Outcome == Refused:
				return r.removed, r
			case o.Kind == Register:
				return !r.removed, reign{conn: o.Conn}
			}
			return r.conn == o.Conn && !r.removed, r
		},
		DescribeOperation: describe,
	}
}

// sessionsOf cuts the history into one part for each framework. Of what was
// done on a connection only the last call counts, since a connection reigns
// once and without a gap, from its registration on. Registrations without
// answer are left out: nothing was done on their connections, and what they
// interrupted had to register again.
func sessionsOf(ops []*Op, skew int64) []part {
	parts := map[offers.FrameworkID]*sessionPart{}
	var order []offers.FrameworkID
	for _, o := range ops {
		if o.Framework == "" || o.Kind == Offered || o.Kind == Rescinded {
			continue
		}
		p := parts[o.Framework]
		if p == nil {
			p = &sessionPart{last: map[int]*Op{}, began: map[int]int64{}, closed: map[int]int64{}}
			parts[o.Framework] = p
			order = append(order, o.Framework)
		}
		p.add(o)
	}
	out := make([]part, 0, len(order))
	for _, id := range order {
		out = append(out, part{"sessions", string(id), sessionModel(), parts[id].history(skew)})
	}
	return out
}

// sessionPart is what is collected of one framework.
type sessionPart struct {
	registers []*Op
	teardowns []*Op
	last      map[int]*Op   // of each connection, what was answered and called last
	conns     []int         // in order
	began     map[int]int64 // when each connection asked to be registered
	closed    map[int]int64
	alive     int64 // when it last called what was answered
	timeout   int64 // the longest that it asked for
}

func (p *sessionPart) add(o *Op) {
	if o.Kind == Register {
		p.began[o.Conn] = o.Call
	}
	switch {
	case o.Kind == Closed:
		p.closed[o.Conn] = o.Return
		return
	case o.Kind == Teardown:
		p.teardowns = append(p.teardowns, o) // also one without answer
		return
	case o.Outcome == Unknown:
		return
	case o.Kind == Register:
		p.registers = append(p.registers, o)
		p.timeout = max(p.timeout, o.Timeout)
		if o.Outcome == Refused {
			return
		}
	case p.last[o.Conn] == nil:
		p.conns = append(p.conns, o.Conn)
		p.last[o.Conn] = o
	case o.Call > p.last[o.Conn].Call:
		p.last[o.Conn] = o
	}
	p.alive = max(p.alive, o.Call)
}

// history adds the end by the failover timeout: an id may be refused once that
// has passed since the framework was last heard, and must be when it has
// passed for long since its last connection was closed.
func (p *sessionPart) history(skew int64) []*Op {
	out := append(append([]*Op{}, p.registers...), p.teardowns...)
	for _, conn := range p.conns {
		if !p.ofDeposed(p.last[conn]) {
			out = append(out, p.last[conn])
		}
	}
	earliest, latest := max(0, p.timeout-skew), p.timeout+int64(overdueSlack)+skew
	var refused *Op
	for _, o := range p.registers {
		switch {
		case o.Outcome == Refused && (refused == nil || o.Return < refused.Return):
			refused = o
		case o.Outcome == Done:
			if left, ok := p.leftBefore(o); ok && left+latest < o.Call {
				out = append(out, p.end(overdue, o, left, left+latest))
			}
		}
	}
	if refused != nil && p.alive+earliest <= refused.Return {
		out = append(out, p.end(lapse, refused, p.alive+earliest, refused.Return))
	}
	return out
}

// ofDeposed reports whether an accept was refused by a leader that may not have
// known of the next one. It does that from its own books, without asking the
// others, since it launches nothing.
func (p *sessionPart) ofDeposed(o *Op) bool {
	return o.Kind == Accept && o.Outcome == Refused &&
		slices.ContainsFunc(p.registers, func(r *Op) bool { return r.Term > o.Term })
}

func (p *sessionPart) end(kind Kind, o *Op, from, until int64) *Op {
	return &Op{Who: "the masters", Kind: kind, Framework: o.Framework, Outcome: Done, Call: from, Return: until}
}

// leftBefore returns when the last connection before that of o was closed, if
// there was one and all were.
func (p *sessionPart) leftBefore(o *Op) (left int64, ok bool) {
	for conn, at := range p.began {
		if conn == o.Conn || at > o.Call {
			continue
		}
		closed, known := p.closed[conn]
		if !known || closed > o.Call {
			return 0, false
		}
		left, ok = max(left, closed), true
	}
	return left, ok
}
