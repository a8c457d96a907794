package linear

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Recorder is the history of many connections. It is not safe for concurrent
// use.
type Recorder struct {
	begin time.Time
	ops   []*Op
	conns int
}

// NewRecorder returns an empty history. All its times count from begin.
func NewRecorder(begin time.Time) *Recorder { return &Recorder{begin: begin} }

// Ops returns what was recorded so far, in the order of calls. Operations
// without answer still change.
func (r *Recorder) Ops() []*Op { return r.ops[:len(r.ops):len(r.ops)] }

// Open begins a connection of who.
func (r *Recorder) Open(who string) *Conn {
	r.conns++
	return &Conn{recorder: r, who: who, number: r.conns, open: map[string]*Op{}}
}

// Conn is one connection of a framework to a master.
type Conn struct {
	recorder  *Recorder
	who       string
	number    int
	asked     offers.FrameworkID // to be registered as
	framework offers.FrameworkID
	term      uint64
	open      map[string]*Op // that have no answer, by request id
}

// Framework returns the id that this connection is registered as, or "".
func (c *Conn) Framework() offers.FrameworkID { return c.framework }

func (c *Conn) add(o *Op, at time.Time) *Op {
	o.Conn, o.Who, o.Call, o.Term = c.number, c.who, int64(at.Sub(c.recorder.begin)), c.term
	if o.Framework == "" {
		o.Framework = c.framework
	}
	c.recorder.ops = append(c.recorder.ops, o)
	return o
}

// Sent notes a frame that is handed to the connection at a time. A request
// without a request id can't be told from another and is not recorded.
func (c *Conn) Sent(at time.Time, frame []byte) {
	m, env, err := wire.Decode(wire.FromFramework, frame)
	if err != nil || env.RequestID == "" {
		return
	}
	var o *Op
	switch m := m.(type) {
	case *wire.Register:
		timeout := wire.DefaultFailoverTimeout
		if m.Framework.FailoverTimeout != nil {
			timeout = *m.Framework.FailoverTimeout
		}
		c.asked = m.Framework.ID
		o = &Op{Kind: Register, Framework: m.Framework.ID, Timeout: int64(timeout)}
	case *wire.Teardown:
		o = &Op{Kind: Teardown}
	case *wire.StateRequest:
		o = &Op{Kind: Kind(m.Op), Key: m.Key, Value: string(m.Value), If: m.Version}
	case *wire.Accept:
		o = &Op{Kind: Accept, Offers: m.OfferIDs, Tasks: taskIDs(m.Tasks)}
	default:
		return
	}
	c.open[env.RequestID] = c.add(o, at)
}

func taskIDs(tasks []json.RawMessage) (out []offers.TaskID) {
	for _, raw := range tasks {
		var t struct{ ID offers.TaskID }
		if json.Unmarshal(raw, &t) == nil {
			out = append(out, t.ID)
		}
	}
	return out
}

// unheard are the beginnings, as wire.Encode writes them, of what is most of the
// frames and answers nothing: it need not be decoded.
var unheard = [][]byte{[]byte(`{"type":"update"`), []byte(`{"type":"heartbeat"`)}

// Received notes a frame that came out of the connection at a time.
func (c *Conn) Received(at time.Time, frame []byte) {
	for _, beginning := range unheard {
		if bytes.HasPrefix(frame, beginning) {
			return
		}
	}
	m, env, err := wire.Decode(wire.ToFramework, frame)
	if err != nil {
		return
	}
	switch m := m.(type) {
	case *wire.Registered:
		c.framework, c.term = m.FrameworkID, m.Master.Term
		c.answer(at, env.RequestID, Register, func(o *Op) { o.Framework, o.Term = m.FrameworkID, m.Master.Term })
	case *wire.StateAnswer:
		c.answer(at, env.RequestID, Kind(m.Op), func(o *Op) {
			o.Version, o.Keys = m.Version, m.Keys
			if o.Kind == Get {
				o.Value = string(m.Value)
			}
		})
	case *wire.Accepted:
		c.answer(at, env.RequestID, Accept, func(*Op) {})
	case *wire.OffersMessage:
		for _, offer := range m.Offers {
			o := c.add(&Op{Kind: Offered, Offers: []offers.OfferID{offer.ID}, Outcome: Done}, at)
			o.Return, o.Expires = o.Call, int64(offer.Expires.Sub(c.recorder.begin))
		}
	case *wire.Rescind:
		for _, id := range m.OfferIDs {
			o := c.add(&Op{Kind: Rescinded, Offers: []offers.OfferID{id}, Outcome: Done}, at)
			o.Return = o.Call
		}
	case *wire.ErrorMessage:
		c.failed(at, env.RequestID, m.Code)
	}
}

// Closed notes the end of the connection.
func (c *Conn) Closed(at time.Time) {
	o := c.add(&Op{Kind: Closed, Outcome: Done}, at)
	o.Return = o.Call
	if o.Framework == "" {
		o.Framework = c.asked
	}
}

func (c *Conn) answer(at time.Time, request string, kind Kind, with func(*Op)) {
	o := c.open[request]
	if o == nil || o.Kind != kind {
		return
	}
	delete(c.open, request)
	o.Outcome, o.Return = Done, int64(at.Sub(c.recorder.begin))
	with(o)
}

// definite are the errors that say that nothing was done. After any other one
// a write may have been done all the same.
var definite = map[Kind][]offers.Code{
	Register: {offers.FrameworkRemoved, offers.UnknownFramework},
	Put:      {offers.VersionConflict, offers.TooLarge, offers.BadMessage},
	Delete:   {offers.VersionConflict, offers.TooLarge, offers.BadMessage},
	Accept:   {offers.OfferGone, offers.MixedAgents},
}

func (c *Conn) failed(at time.Time, request string, code offers.Code) {
	since := int64(at.Sub(c.recorder.begin))
	if code == offers.FrameworkRemoved { // it ends the connection, whatever asked for it
		for name, o := range c.open {
			if o.Kind == Teardown {
				delete(c.open, name)
				o.Outcome, o.Return = Done, since
			}
		}
	}
	o := c.open[request]
	if o == nil {
		return
	}
	delete(c.open, request)
	if slices.Contains(definite[o.Kind], code) {
		o.Outcome, o.Return, o.Code = Refused, since, code
	}
}
