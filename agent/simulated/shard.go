package simulated

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers/heap"
)

const (
	inboxSize = 1024
	maxBatch  = 256 // inputs of one turn; what they lead to goes out together
)

// shard is the goroutine that owns the machines of its agents.
type shard struct {
	inbox chan input // closed at the end, when no connector sends any more

	// owned by run
	due     heap.Heap[*agent]
	touched []*agent // have something to do in this turn
}

// input is one thing for one agent to do.
type input struct {
	agent *agent
	do    func(now time.Time)
}

func newShard() *shard {
	return &shard{
		inbox: make(chan input, inboxSize),
		due:   heap.New(func(a, b *agent) bool { return a.next.Before(b.next) }, func(a *agent) *int { return &a.place }),
	}
}

// run handles what comes in, as many inputs in a turn as are there, and what
// has become due.
func (s *shard) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case in, more := <-s.inbox:
			if !more {
				return
			}
			now := time.Now()
			s.handle(in, now)
			for n := 1; n < maxBatch && len(s.inbox) > 0; n++ {
				s.handle(<-s.inbox, now)
			}
			s.finish(now)
		case now := <-timer.C:
			for s.due.Len() > 0 && !s.due.First().next.After(now) {
				a := s.due.Pop()
				a.tick(now)
				s.touch(a)
			}
			s.finish(now)
		}
		wait := time.Hour
		if s.due.Len() > 0 {
			wait = max(0, time.Until(s.due.First().next))
		}
		timer.Reset(wait)
	}
}

func (s *shard) handle(in input, now time.Time) {
	in.do(now)
	s.touch(in.agent)
}

func (s *shard) touch(a *agent) {
	if !a.touched {
		a.touched = true
		s.touched = append(s.touched, a)
	}
}

// finish lets the agents that were touched act.
func (s *shard) finish(now time.Time) {
	for _, a := range s.touched {
		a.touched = false
		a.act(now)
		s.plan(a, a.wake())
	}
	clear(s.touched)
	s.touched = s.touched[:0]
}

// plan wakes an agent at a time, never at zero.
func (s *shard) plan(a *agent, at time.Time) {
	a.next = at
	s.due.Plan(a, !at.IsZero())
}
