package replica

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers"
)

// answerLimit is how long a master may take to say that it is there.
const answerLimit = 500 * time.Millisecond

// Answering asks every master of the cluster whether it is there, all at once,
// and returns those that answered, by id. This one always is.
func (r *Replica) Answering(ctx context.Context) map[string]bool {
	var mu sync.Mutex
	out := map[string]bool{r.self.ID: true}
	var asked sync.WaitGroup
	for _, m := range r.Members() {
		if m.ID == r.self.ID {
			continue
		}
		asked.Go(func() {
			seen, err := r.port.call(ctx, m.Raft, request{Call: "info", From: r.self}, answerLimit)
			if err != nil || seen.ID != m.ID {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[m.ID] = true
		})
	}
	asked.Wait()
	return out
}

// Remove takes the master of that name out of the cluster; on the leader only,
// which can't remove itself. It is refused with bad_message where too few of
// the masters that would be left answer to agree on anything.
func (r *Replica) Remove(ctx context.Context, name string) error {
	r.joining.Lock()
	defer r.joining.Unlock()
	if !r.IsLeader() {
		return offers.Errorf(offers.NotLeader, "this master does not lead")
	}
	gone, err := r.named(name)
	if err != nil {
		return err
	}
	if string(gone.ID) == r.self.ID {
		return offers.Errorf(offers.BadMessage, "%s leads: transfer the leadership to another master first", name)
	}
	left, there := 0, 0
	answering := r.Answering(ctx)
	for _, s := range r.voters() {
		if s.ID == gone.ID {
			continue
		}
		left++
		if answering[string(s.ID)] {
			there++
		}
	}
	if there <= left/2 {
		return offers.Errorf(offers.BadMessage, "without %s the cluster has %d masters and only %d of them answers, which is no majority: start or remove the others first", name, left, there)
	}
	return r.dismiss(gone)
}

// named finds a master by its name.
func (r *Replica) named(name string) (raft.Server, error) {
	for _, s := range r.servers() {
		if nameOf(string(s.ID)) == name {
			return s, nil
		}
	}
	return raft.Server{}, offers.Errorf(offers.BadMessage, "no master is called %.70q", name)
}

// TransferLeadershipTo hands leadership to the master of that name once that
// has everything, and returns when it stands for election, or fails within
// Config.Pace.
func (r *Replica) TransferLeadershipTo(ctx context.Context, name string) error {
	to, err := r.named(name)
	if err != nil {
		return err
	}
	if string(to.ID) == r.self.ID {
		return offers.Errorf(offers.BadMessage, "%s leads already", name)
	}
	if to.Suffrage != raft.Voter {
		return offers.Errorf(offers.BadMessage, "the leadership stays here: %s has no vote before it has what the others agreed on", name)
	}
	// Raft would refuse everything for a while before it gave up.
	if err := r.expectAt(ctx, string(to.Address), string(to.ID)); err != nil {
		return offers.Errorf(offers.BadMessage, "the leadership stays here: %s can't be reached at %s", name, to.Address)
	}
	return r.transfer(func() raft.Future { return r.raft.LeadershipTransferToServer(to.ID, to.Address) })
}

// TransferLeadership is TransferLeadershipTo the voter that is furthest ahead.
func (r *Replica) TransferLeadership() error {
	if r.IsLeader() && len(r.voters()) < 2 { // who follows may not know yet who votes
		return offers.Errorf(offers.BadMessage, "there is no other master that could lead")
	}
	return r.transfer(func() raft.Future { return r.raft.LeadershipTransfer() })
}

func (r *Replica) transfer(begin func() raft.Future) error {
	if !r.IsLeader() {
		return offers.Errorf(offers.NotLeader, "this master does not lead")
	}
	return r.gate.through(func() error {
		if err := begin().Error(); err != nil {
			return offers.Errorf(offers.BadMessage, "the leadership stays here: %v", err)
		}
		return nil
	})
}
