package lead

import (
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// inquiry is a reconcile that is yet to be answered, or the rest of it. A framework may have a hundred
// thousand tasks, and ask for all when it has found a new leader: the others
// would wait for a second.
type inquiry struct {
	by      *Framework
	all     bool // left is yet to be listed
	left    []offers.TaskID
	weight  int // in by.asks
	request string
}

// Bounds of inquiries: how many answers a turn gives to one of them and to all, and
// for how many tasks a framework may have asked without an answer, which is for
// more than a large one has. An inquiry counts for inquiryLeast of them at least.
const (
	inquiryPart  = 500
	inquiryTurn  = 4 * inquiryPart
	inquiryLeast = 4096
	asksMost     = 256 * inquiryLeast
)

// reconcile answers with one update per task; none of them wants an
// acknowledgement. What it can't tell before an agent is back is told then, and
// of what it told the end no older state follows.
func (s *Framework) reconcile(c *Core, m *wire.Reconcile, request string) {
	q := &inquiry{by: s, all: len(m.TaskIDs) == 0, left: m.TaskIDs, weight: max(len(m.TaskIDs), inquiryLeast), request: request}
	if s.asks > 0 && s.asks+q.weight > asksMost {
		refuse(s.peer, offers.Errorf(offers.RateLimited, "reconcile: answers to what was asked before are on their way, which is enough for now: ask again after reconciled"), request)
		return
	}
	s.asks += q.weight
	s.inquiries = append(s.inquiries, q)
	if len(s.inquiries) == 1 {
		c.asking = append(c.asking, s)
	}
	if len(c.asking) == 1 && c.answers < inquiryTurn {
		c.answerNext()
	}
}

// answerInquiries gives the next answers to those who wait for some, in turns.
func (c *Core) answerInquiries() {
	for n := len(c.asking); n > 0 && c.answers < inquiryTurn; n-- {
		c.answerNext()
	}
	c.answers = 0
}

// answerNext gives the next answers to whose turn it is.
func (c *Core) answerNext() {
	s := c.asking[0]
	c.asking[0] = nil
	c.asking = c.asking[1:]
	if s.ended {
		return
	}
	if s.inquiries[0].answer(c) {
		s.inquiries[0] = nil
		s.inquiries = s.inquiries[1:]
	}
	if len(s.inquiries) > 0 {
		c.asking = append(c.asking, s)
	}
}

// answer gives the next answers, and reports whether these were the last.
func (q *inquiry) answer(c *Core) (done bool) {
	if q.all {
		q.list(c)
	}
	now := q.left[:min(len(q.left), inquiryPart)]
	q.left = q.left[len(now):]
	c.answers += len(now) + 1
	var ends []*state.Task
	for _, id := range now {
		ref := offers.TaskRef{Framework: q.by.id, Task: id}
		status := c.currentStatus(ref)
		status.UpdateID = ""
		if t := c.state().Task(ref); status.State.Terminal() && t != nil && !t.Acknowledged {
			ends = append(ends, t)
		}
		if _, known := c.delivery.last.of(ref); !known && status.Reason == offers.ReasonPendingAgent {
			c.unsure[ref] = true
		}
		q.by.peer.Send(&wire.Update{Status: status}, q.request)
	}
	done = len(q.left) == 0
	if done {
		q.by.asks -= q.weight
		q.by.peer.Send(&wire.Reconciled{}, q.request)
	}
	for _, t := range ends {
		c.skipToEnd(t)
	}
	return done
}

// list finds what there is to answer of all tasks.
func (q *inquiry) list(c *Core) {
	q.all = false
	for t := range c.state().TasksOf(q.by.id) {
		if !t.Acknowledged {
			q.left = append(q.left, t.ID)
		}
	}
}
