package replica

import (
	"testing"
	"time"
)

// TestDeadLeaderIsReplacedBeforeItIsMissed: the followers would wait for an
// hour, but they see that nobody listens at its port any more.
func TestDeadLeaderIsReplacedBeforeItIsMissed(t *testing.T) {
	rs := three(t, nil)
	leaderOf(t, rs...)
	for _, r := range rs {
		r.hurry(time.Hour)
	}
	leader := leaderOf(t, rs...) // from here on it stays
	rest := without(rs, leader)
	crash(leader)
	for _, r := range rest { // a process that dies closes them all; a pool that is forgotten may not
		select {
		case r.port.lost <- struct{}{}:
		default:
		}
	}
	limit := time.After(time.Minute)
	for {
		changed := rest[0].LeaderChanged()
		if l, ok := rest[0].Leader(); !ok || l.ID != leader.self.ID {
			break
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatal("a follower sends clients to a leader that has died")
		}
	}
	leaderOf(t, rest...)
	for _, r := range rest {
		eventually(t, "the pace is as before", func() bool { return r.raft.ReloadableConfig().HeartbeatTimeout == r.config.Pace })
	}
}

func TestLivingLeaderIsNotDoubted(t *testing.T) {
	rs := three(t, nil)
	leader := leaderOf(t, rs...)
	follower := without(rs, leader)[0]
	if follower.gone(leader.self) {
		t.Error("a leader that answers is said to be gone")
	}

	// It is found dead by mistake, and heard again.
	term := leader.Term()
	follower.succeed(leader.self)
	if l, ok := follower.Leader(); !ok || l.ID != leader.self.ID || leader.Term() != term {
		t.Errorf("the follower follows %v, %v in term %d; want %s in term %d", l, ok, leader.Term(), leader.self.ID, term)
	}
	if pace := follower.raft.ReloadableConfig().HeartbeatTimeout; pace != follower.config.Pace {
		t.Errorf("the follower waits for %v; want %v", pace, follower.config.Pace)
	}
}
