package replica

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// IsLeader reports whether this master believes to lead; see VerifyLeader.
func (r *Replica) IsLeader() bool { return r.raft.State() == raft.Leader }

// Term returns the current term: Raft's, counted from where the state says.
func (r *Replica) Term() uint64 { return r.State().Terms() + r.raft.CurrentTerm() }

// Progress is how far this master's log is, by Raft's indexes.
type Progress struct {
	Last, Committed, Applied uint64
	Silence                  time.Duration // since it heard its leader; 0 on the leader, and as long as it heard none
}

// Progress returns how far this master's log is.
func (r *Replica) Progress() Progress {
	p := Progress{Last: r.raft.LastIndex(), Committed: r.raft.CommitIndex(), Applied: r.raft.AppliedIndex()}
	if heard := r.raft.LastContact(); !heard.IsZero() && !r.IsLeader() {
		p.Silence = time.Since(heard)
	}
	return p
}

// Leader returns the leader as far as it is known here; one that has died is
// none.
func (r *Replica) Leader() (Member, bool) {
	address, id := r.raft.LeaderWithID()
	d := r.dead.Load()
	if id == "" || d != nil && d.id == string(id) && d.term == r.raft.CurrentTerm() && r.mourns(d) {
		return Member{}, false
	}
	return r.roster.fill(Member{ID: string(id), Name: nameOf(string(id)), Raft: string(address)}, r.self), true
}

// LeadershipChanges tells when this master begins (true) and ceases (false) to
// lead. On true, State holds everything committed before, the cluster has its
// id, and Term is this leadership's unless it is over already. The channel
// holds one value, the last; a true after a true means that leadership was
// lost and won again in between.
func (r *Replica) LeadershipChanges() <-chan bool { return r.changes }

// watch announces changes of leadership.
func (r *Replica) watch() {
	leads := false
	for {
		select {
		case <-r.ctx.Done():
			return
		case won := <-r.raft.LeaderCh():
			if won {
				won = r.prepare()
			}
			if !won && !leads {
				continue
			}
			leads = won
			r.announce(won)
		}
	}
}

// prepare catches up before others hear of it; false means that leadership
// was lost meanwhile.
func (r *Replica) prepare() bool {
	term := r.Term()
	for {
		err := r.catchUp()
		if err == nil {
			break
		}
		if !r.IsLeader() {
			r.logger.Warn("won the leadership and lost it before it was of use", "term", term, "error", err)
			return false
		}
		r.logger.Warn("leads, but can't begin yet", "term", term, "error", err)
		select {
		case <-r.ctx.Done():
			return false
		case <-time.After(r.config.Pace / 4):
		}
	}
	if err := r.correctOwnAddress(); err != nil {
		r.logger.Warn("the others keep an old address of this master", "error", err)
	}
	r.logger.Info("leads", "name", r.self.Name, "term", term, "cluster", r.State().ClusterID())
	return true
}

// catchUp brings State up to what was committed before, and gives a new
// cluster its id.
func (r *Replica) catchUp() error {
	if err := r.Barrier(); err != nil || r.State().ClusterID() != "" {
		return err
	}
	return r.found()
}

// found gives a new cluster its id.
func (r *Replica) found() error {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	results, err := r.Apply(0, []state.Command{{Init: &state.Init{ClusterID: hex.EncodeToString(random[:])}}}).Wait()
	if err != nil {
		return err
	}
	if results[0].Err != nil {
		return results[0].Err
	}
	return nil
}

// correctOwnAddress enters where this master is reached now: it may have
// restarted on another port. Raft knows masters by id, so a single master
// leads before that.
func (r *Replica) correctOwnAddress() error {
	if self := r.server(r.self.ID); self != nil && string(self.Address) != r.self.Raft {
		return r.enter(r.self, r.raft.AddVoter, "this master has another address")
	}
	return nil
}

// announce replaces a value that nobody has taken yet; only watch calls it.
func (r *Replica) announce(leads bool) {
	if !leads {
		r.logger.Info("leads no longer", "name", r.self.Name, "term", r.Term())
	}
	select {
	case <-r.changes:
	default:
	}
	r.changes <- leads
}
