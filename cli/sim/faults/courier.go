package faults

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// courier is what one side of a connection has sent and must send again until
// it is acknowledged: after 1 s, doubling to 60 s.
type courier struct {
	waits map[letter]*waiting
	moved time.Time // when one of them was acknowledged last, by the sender's clock: the others may wait for patience then
	lazy  bool      // the schedule is of all of a task's letters, so only the longest pause is known
}

// letter is one status on its way.
type letter struct {
	ref offers.TaskRef
	id  offers.UpdateID
}

type waiting struct {
	sends int
	last  time.Time // by the sender's clock
	leaps int       // of that clock
	late  bool      // at the last audit
	lax   bool      // last was not when it was sent
}

// pause is how long the sender waits before the next time.
func (w *waiting) pause() time.Duration {
	return min(time.Second<<min(w.sends-1, 6), longestPause)
}

const (
	longestPause = time.Minute
	patience     = time.Second
)

// sent notes a sending. It returns how much it came too early, and another
// letter of the task that still waits, where there is one.
func (c *courier) sent(l letter, now time.Time, leaps int) (early time.Duration, other offers.UpdateID) {
	if c.waits == nil {
		c.waits = map[letter]*waiting{}
	}
	w, planned := c.waits[l], false
	if w == nil {
		for o, before := range c.waits {
			if o.ref == l.ref {
				other, planned = o.id, planned || c.lazy && (before.leaps != leaps || before.lax)
			}
		}
		w = &waiting{}
		c.waits[l] = w
	} else if w.leaps == leaps && !w.lax {
		early = w.pause() - now.Sub(w.last)
	}
	w.sends, w.last, w.leaps, w.late, w.lax = w.sends+1, now, leaps, false, false
	if planned { // for the old time, with what came before it
		w.last, w.lax = now.Add(longestJump), true
	}
	return max(early, 0), other
}

func (c *courier) acknowledged(l letter, now time.Time) {
	delete(c.waits, l)
	c.moved = now
}

// overdue returns a letter that should have been sent again by now, and should
// have at the last call.
func (c *courier) overdue(now time.Time, leaps int, slack time.Duration) (first letter, found bool) {
	for l, w := range c.waits {
		if w.leaps != leaps {
			w.last, w.leaps, w.late, w.lax = now, leaps, false, true
			if c.lazy {
				w.last = now.Add(longestJump) // what was planned before waits for the old time
			}
			continue
		}
		pause, was := w.pause(), w.late
		if c.lazy {
			pause = longestPause
		}
		w.late = now.Sub(w.last) > pause+slack && now.Sub(c.moved) > patience+slack
		if w.late && was && (!found || l.id < first.id) {
			first, found = l, true
		}
	}
	return first, found
}
