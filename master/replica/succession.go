package replica

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// A silent leader is left after Pace, because it may only be slow. Of one that
// was killed there is an earlier and certain sign, as long as its machine
// lives: the kernel ends its connections, and nobody listens at its port any
// more. A leader that is slow, stopped or cut off still has its port. So a
// follower that loses a stream of Raft's knocks at the leader's port; where it
// is refused, it follows nobody from then on and waits for half of Pace only.
// That is the least: a leader must not keep its lease for longer than its
// followers wait.
const (
	knocks     = 5                     // at most, on a port whose owner is about to die
	knockPause = 20 * time.Millisecond // between them
)

// dead is a leader that is known to be.
type dead struct {
	id    string
	term  uint64
	since time.Time
}

// doubt looks after the leader whenever a stream has ended.
func (r *Replica) doubt() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.port.lost:
		}
		if leader, ok := r.Leader(); ok && leader.ID != r.self.ID && r.gone(leader) {
			r.succeed(leader)
		}
	}
}

// gone reports whether nobody listens at the leader's port.
func (r *Replica) gone(leader Member) bool {
	for range knocks {
		_, err := r.port.call(r.ctx, leader.Raft, request{Call: "info", From: r.self}, callTimeout)
		if err == nil || r.ctx.Err() != nil {
			return false
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return true
		}
		r.pause(knockPause)
	}
	return false
}

// succeed hurries until there is another leader, or that one is heard again.
func (r *Replica) succeed(leader Member) {
	d := &dead{id: leader.ID, term: r.raft.CurrentTerm(), since: time.Now()}
	r.dead.Store(d)
	r.logger.Info("the leader has died", "leader", leader.Name, "term", d.term)
	r.leaders.ring()
	r.hurry(r.config.Pace / 2)
	defer r.hurry(r.config.Pace)
	for r.raft.CurrentTerm() == d.term && r.mourns(d) || !r.follows() {
		if r.ctx.Err() != nil || time.Since(d.since) > 10*r.config.Pace {
			return
		}
		r.pause(r.config.Pace / 10)
	}
}

// mourns reports whether d has not been heard since it was found dead.
func (r *Replica) mourns(d *dead) bool { return !r.raft.LastContact().After(d.since) }

// follows reports whether Raft knows a leader, dead or alive.
func (r *Replica) follows() bool {
	_, id := r.raft.LeaderWithID()
	return id != ""
}

func (r *Replica) pause(d time.Duration) {
	select {
	case <-r.ctx.Done():
	case <-time.After(d):
	}
}

// hurry sets how long Raft waits for a leader and in an election.
func (r *Replica) hurry(pace time.Duration) {
	err := r.gate.through(func() error {
		conf := r.raft.ReloadableConfig()
		conf.HeartbeatTimeout, conf.ElectionTimeout = pace, pace
		return r.raft.ReloadConfig(conf)
	})
	if err != nil && r.ctx.Err() == nil {
		r.logger.Warn("the pace of elections stays as it is", "error", err)
	}
}

// LeaderChanged is closed when the answer of Leader has changed, or may have.
// Ask for it before Leader.
func (r *Replica) LeaderChanged() <-chan struct{} { return r.leaders.next() }

// tell rings when Raft knows another leader, or none any more.
func (r *Replica) tell(o *raft.Observation) bool {
	if _, ok := o.Data.(raft.LeaderObservation); ok {
		r.leaders.ring()
	}
	return false
}

// bell lets any number of goroutines wait for the next time that it rings.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // closed when it rings; nil while nobody waits
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
