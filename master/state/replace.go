package state

import "time"

// Terms is where the terms of this state count from: the term of a leader is
// this and Raft's own. It grows with every restore, so that nothing said
// before one is taken for something said after it, and agents believe the
// masters of a new cluster that was given their old one's state.
func (s *State) Terms() uint64 { return s.counters.Terms }

// Replacing returns the state that s, a saved snapshot, becomes when it is put
// in the place of old at the time now, by an entry of Raft's term. It differs
// from s in what must not come twice:
//
//   - Terms pass every one there was. New masters that are given the state of a
//     lost cluster can't know how far that came, so the count goes on from the
//     milliseconds of now: elections are rarer, so a later restore is ahead of
//     all that followed an earlier one.
//   - Ids given after the snapshot was saved are not given again. Where old is
//     of the same cluster it knows them; otherwise they go on from now, too.
//   - Versions in the frameworks' stores that were given after it was saved
//     are not given again, so that whoever remembers one of them is refused.
//   - Living tasks are marked Restored: nobody launches them again.
//   - The agents' tokens are those of the snapshot: a new run of an agent that
//     has gone on since counts as one on an older copy, and starts nothing of
//     what it brings along.
//   - Frameworks whose deadline has passed have their whole failover timeout
//     from now.
func (s *State) Replacing(old *State, term uint64, now time.Time) *State {
	tx := begin(s)
	n, was := &tx.counters, old.counters
	clock := uint64(max(now.UnixMilli(), 0))
	n.Terms = max(clock, was.Terms+term+1, n.Terms+term+1) - term
	n.Applied = max(n.Applied, was.Applied)
	if s.cluster == old.cluster {
		n.Agents, n.Frameworks = max(n.Agents, was.Agents), max(n.Frameworks, was.Frameworks)
	} else {
		n.Agents, n.Frameworks = max(n.Agents, clock), max(n.Frameworks, clock)
	}
	for t := range s.living.All() {
		tx.replaceLiving(t.amended(func(r *Rare) { r.Restored = true }))
	}
	tx.raiseVersions(s, old, clock)
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

// raiseVersions lets the versions of every store go on above those of old,
// where that is the same cluster and knows them, and otherwise from clock.
func (tx *tx) raiseVersions(s, old *State, clock uint64) {
	for f := range s.Frameworks() {
		if f.Removed {
			continue
		}
		floor := clock
		if was := old.Framework(f.ID); s.cluster == old.cluster && was != nil && !was.Removed {
			st, ok := old.stores.Get([]byte(f.ID))
			if !ok {
				continue
			}
			floor = st.highest()
		}
		raised := *tx.storeOf(f.ID)
		raised.floor = max(raised.floor, floor)
		tx.stores.Insert([]byte(f.ID), &raised)
	}
}
