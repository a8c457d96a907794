package state

import "time"

// Distances that a saved snapshot keeps from what came after it was saved.
const (
	// termsApart is far more terms than masters ever pass: a state that was
	// restored begins a new million of them.
	termsApart = 1_000_000
	// idsApart is how many ids of a kind may have been given after the
	// snapshot was saved, where nobody is left who would know.
	idsApart = 10_000
)

// Terms is where the terms of this state count from: the term of a leader is
// this and Raft's own. It grows with every restore, so that nothing said
// before one is taken for something said after it, and agents believe the
// masters of a new cluster that was given their old one's state.
func (s *State) Terms() uint64 { return s.counters.Terms }

// Replacing returns the state that s, a saved snapshot, becomes when it is put
// in the place of old at the time now. It differs from s in what must not
// come twice:
//
//   - Terms pass those of both, and ids given after the snapshot was saved are
//     not given again: all of them where old is of the same cluster, idsApart
//     where it is not.
//   - Living tasks are marked Restored: nobody launches them again.
//   - Frameworks whose deadline has passed have their whole failover timeout
//     from now.
func (s *State) Replacing(old *State, now time.Time) *State {
	tx := begin(s)
	n, was := &tx.counters, old.counters
	n.Terms = max(n.Terms, was.Terms) + termsApart
	n.Applied = max(n.Applied, was.Applied)
	if s.cluster == old.cluster {
		n.Agents, n.Frameworks = max(n.Agents, was.Agents), max(n.Frameworks, was.Frameworks)
	} else {
		n.Agents, n.Frameworks = n.Agents+idsApart, n.Frameworks+idsApart
	}
	for t := range values(s.living.Root(), nil) {
		marked := *t
		marked.Restored = true
		tx.replaceLiving(&marked)
	}
	for f := range s.Frameworks() {
		if f.Removed || f.Deadline.IsZero() || f.Deadline.After(now) {
			continue
		}
		later := *f
		later.Deadline = now.Add(f.FailoverTimeout)
		tx.frameworks.Insert([]byte(f.ID), &later)
	}
	return tx.commit()
}
