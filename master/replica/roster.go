package replica

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers"
)

// gossipInterval is how often a master asks the others where they are reached
// over HTTP. All are known long before one of them leads, so that a redirect
// right after an election needs no question.
const gossipInterval = 10 * time.Second

// roster is what the masters last said about their HTTP addresses.
type roster struct {
	mu     sync.Mutex
	http   map[string]string // by id; at most maxRoster
	silent map[string]bool   // ids of those that did not answer the last question
}

const maxRoster = 64

func (b *roster) learn(m Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.http == nil || len(b.http) >= maxRoster {
		b.http = map[string]string{}
	}
	b.http[m.ID] = m.HTTP
	delete(b.silent, m.ID)
}

// missed notes that a master did not answer.
func (b *roster) missed(m Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silent == nil || len(b.silent) >= maxRoster {
		b.silent = map[string]bool{}
	}
	b.silent[m.ID] = true
}

// Silent reports whether the master of that id did not answer this one when it
// was last asked, which is every few seconds and when Raft misses it.
func (r *Replica) Silent(id string) bool {
	r.roster.mu.Lock()
	defer r.roster.mu.Unlock()
	return r.roster.silent[id]
}

func (b *roster) fill(m, self Member) Member {
	if m.ID == self.ID {
		return self
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m.HTTP = b.http[m.ID]
	return m
}

// gossip keeps the roster and logs whom this master follows.
func (r *Replica) gossip() {
	changes := make(chan raft.Observation, 1)
	observer := raft.NewObserver(changes, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.FailedHeartbeatObservation, raft.ResumedHeartbeatObservation:
			return true
		}
		return false
	})
	r.raft.RegisterObserver(observer)
	defer r.raft.DeregisterObserver(observer)
	tick := time.NewTicker(gossipInterval)
	defer tick.Stop()
	followed, removed := "", false
	for {
		if forgotten := r.forgotten(r.ask()); forgotten && !removed && r.seeking.ended() {
			r.logger.Warn("this master was removed from the cluster: stop it for good, or start it again to let it join")
			removed = true
		} else if !forgotten {
			removed = false
		}
		if leader, ok := r.Leader(); ok && leader.ID != r.self.ID && leader.ID != followed {
			r.logger.Info("follows", "leader", leader.Name, "raft", leader.Raft, "http", leader.HTTP)
			followed = leader.ID
		} else if !ok || leader.ID == r.self.ID {
			followed = ""
		}
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		case <-changes:
		}
	}
}

// ask refreshes the roster from every other master, all at once, and returns
// what they said.
func (r *Replica) ask() []info {
	var asked sync.WaitGroup
	var mu sync.Mutex
	var out []info
	for _, m := range r.Members() {
		if m.ID == r.self.ID {
			continue
		}
		asked.Go(func() {
			seen, err := r.port.call(r.ctx, m.Raft, request{Call: "info", From: r.self}, callTimeout)
			if err != nil || seen.ID != m.ID {
				r.roster.missed(m)
				return
			}
			r.roster.learn(seen.Member)
			mu.Lock()
			defer mu.Unlock()
			out = append(out, seen)
		})
	}
	asked.Wait()
	return out
}

// asError is err as a peer is told it.
func asError(err error) *offers.Error {
	var known *offers.Error
	if errors.As(err, &known) {
		return &offers.Error{Code: known.Code, Message: err.Error()}
	}
	return &offers.Error{Code: offers.Internal, Message: err.Error()}
}
