package replica

import (
	"errors"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Future is a batch on its way to a majority.
type Future struct {
	gate    *gate
	raft    raft.ApplyFuture // nil when the batch was refused at once
	once    sync.Once
	outcome outcome
}

// Apply proposes batch as one entry, meant for term (0: whichever it gets to).
// It does not block: with too many batches under way the future fails at once
// with code unavailable. Batches commit in the order of their Apply. Every
// future is to be waited for, since that is what frees its place.
func (r *Replica) Apply(term uint64, batch []state.Command) *Future {
	data, err := encodeEntry(term, batch)
	if err != nil {
		return &Future{outcome: outcome{err: offers.Errorf(offers.Internal, "encode the commands: %v", err)}}
	}
	f := &Future{gate: &r.gate}
	// Raft's queue holds maxAppendEntries, so with fewer in flight this never waits.
	if err := r.gate.propose(f, func() { f.raft = r.raft.Apply(data, 0) }); err != nil {
		return &Future{outcome: outcome{err: err}}
	}
	return f
}

// Wait returns the results of the batch's commands, one each, once the batch
// is committed and applied here. On an error of code not_leader nothing
// changed; after unavailable it is unknown whether it did.
func (f *Future) Wait() ([]state.Result, error) {
	f.once.Do(func() {
		if f.raft == nil {
			return
		}
		if err := f.raft.Error(); err != nil {
			f.outcome.err = failure(err)
		} else {
			f.outcome = f.raft.Response().(outcome)
		}
		f.gate.decided(f)
	})
	return f.outcome.results, f.outcome.err
}

// Index returns the batch's place in the log, after Wait without an error.
func (f *Future) Index() uint64 {
	if f.raft == nil {
		return 0
	}
	return f.raft.Index()
}

// failure turns Raft's errors into ours.
func failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return offers.Errorf(offers.NotLeader, "this master does not lead")
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrAbortedByRestore):
		return offers.Errorf(offers.Unavailable, "leadership was lost before a majority of the masters agreed")
	case errors.Is(err, raft.ErrRaftShutdown):
		return errStops()
	default:
		return offers.Errorf(offers.Unavailable, "raft: %v", err)
	}
}

// VerifyLeader asks a majority whether this master still leads; nil makes a
// read of State that follows it consistent. Without a majority it fails within
// half of Config.Pace.
func (r *Replica) VerifyLeader() error {
	return r.gate.through(func() error {
		return failure(r.transport.confirm(func() error { return r.raft.VerifyLeader().Error() }))
	})
}

// Barrier returns once everything that was committed before is in State.
func (r *Replica) Barrier() error {
	return r.gate.through(func() error { return failure(r.raft.Barrier(barrierTimeout).Error()) })
}

// Snapshot writes a snapshot to the data folder now.
func (r *Replica) Snapshot() error {
	return r.gate.through(func() error { return failure(r.raft.Snapshot().Error()) })
}

// shorten has a snapshot made whenever the log since the last one has become
// long to read.
func (r *Replica) shorten() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.fsm.long:
		}
		if !r.fsm.isLong(r.State()) { // said again before the last one was begun
			continue
		}
		if err := r.Snapshot(); err != nil && r.ctx.Err() == nil {
			r.logger.Warn("no snapshot could be made of the state; a restart reads a long log", "error", err)
		}
	}
}
