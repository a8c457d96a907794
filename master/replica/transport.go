package replica

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// transport speaks with the other masters for Raft, and counts the answers that are
// too old to say who leads.
//
// Raft takes every answer of a follower for a yes to whoever is asking just then
// whether this master still leads, also one that was given before. So a leader that was
// stopped (SIGSTOP) would be confirmed by what lay in its sockets, though the others
// have chosen another one meanwhile, and would tell what is no longer so. A follower
// that has answered follows nobody else for half of Config.Pace (see succeed), so that an
// answer to what was asked within that time is new enough.
type transport struct {
	*raft.NetworkTransport
	fresh time.Duration
	late  atomic.Uint64 // answers that took longer
}

// newTransport makes one without pipelines. In
// them a leader whose entries a follower refuses, because it follows a newer
// leader or can't write, may wait for itself for ever: that follower gets
// nothing more from it, and the leader's process can't be stopped any more
// (hashicorp/raft issue 612). They gain nothing where entries are batched.
func newTransport(p *port, pace time.Duration, logger hclog.Logger) *transport {
	return &transport{fresh: pace / 2, NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: p, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: 10 * time.Second, Logger: logger, MsgpackUseNewTimeFormat: true,
	})}
}

// AppendEntries implements [raft.Transport].
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	asked := time.Now()
	err := t.NetworkTransport.AppendEntries(id, target, args, resp)
	if err == nil && time.Since(asked) >= t.fresh {
		t.late.Add(1) // before Raft has it
	}
	return err
}

// confirmations is how often it is asked at most who leads.
const confirmations = 5

// confirm asks until no old answer was among those that may have counted.
func (t *transport) confirm(ask func() error) error {
	for range confirmations {
		late := t.late.Load()
		if err := ask(); err != nil || t.late.Load() == late {
			return err
		}
	}
	return raft.ErrLeadershipLost // as far as anybody knows
}
