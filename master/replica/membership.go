package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers"
)

// servers returns Raft's latest configuration, which may not be committed yet.
func (r *Replica) servers() []raft.Server {
	f := r.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// voters returns those of servers that have a vote.
func (r *Replica) voters() []raft.Server {
	return slices.DeleteFunc(r.servers(), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
}

// server returns what the configuration says of a master, nil for none.
func (r *Replica) server(id string) *raft.Server {
	for _, s := range r.servers() {
		if string(s.ID) == id {
			return &s
		}
	}
	return nil
}

// belongs reports whether this master knows itself to be part of a cluster.
func (r *Replica) belongs() bool { return r.server(r.self.ID) != nil }

// idAt returns the id of the master that the cluster knows at address, or "".
func (r *Replica) idAt(address string) string {
	for _, s := range r.servers() {
		if string(s.Address) == address {
			return string(s.ID)
		}
	}
	return ""
}

// Members returns the cluster's masters, this one among them, with the HTTP
// addresses as far as they are known here.
func (r *Replica) Members() []Member {
	var out []Member
	for _, s := range r.servers() {
		m := r.roster.fill(Member{ID: string(s.ID), Name: nameOf(string(s.ID)), Raft: string(s.Address)}, r.self)
		m.Joining = s.Suffrage != raft.Voter
		out = append(out, m)
	}
	return out
}

func (r *Replica) dismiss(s raft.Server) error {
	err := r.gate.through(func() error { return failure(r.raft.RemoveServer(s.ID, 0, barrierTimeout).Error()) })
	if err != nil {
		return fmt.Errorf("remove the master %s: %w", s.ID, err)
	}
	r.logger.Info("a master left the cluster", "id", s.ID, "raft", s.Address)
	return nil
}

// nearly is how many entries a master may be behind when it gets its vote.
const nearly = 128

// Join lets m in, which has applied the log up to an index, or enters its new
// address; on the leader only. A new master only listens at first: were it a
// voter before it has what the others agreed on, the cluster would stand still
// with one more failure although it looks like one more master. It gets its
// vote when it asks again and has nearly everything. A master that has the
// name or the address of m but does not answer there any more is replaced.
func (r *Replica) Join(ctx context.Context, m Member, applied uint64) error {
	r.joining.Lock()
	defer r.joining.Unlock()
	if !r.IsLeader() {
		return offers.Errorf(offers.NotLeader, "this master does not lead")
	}
	if err := m.validate(); err != nil {
		return offers.Errorf(offers.BadMessage, "%v", err)
	}
	if err := r.expectAt(ctx, m.Raft, m.ID); err != nil {
		return offers.Errorf(offers.Unavailable, "the leader can't reach the master %s: %v", m.Name, err)
	}
	known := r.server(m.ID)
	there := known != nil && string(known.Address) == m.Raft
	if there && known.Suffrage == raft.Voter {
		return nil
	}
	if !there {
		replaced, err := r.rivals(ctx, m)
		if err != nil {
			return err
		}
		for _, s := range replaced {
			if err := r.dismiss(s); err != nil {
				return err
			}
		}
	}
	switch {
	case known != nil && known.Suffrage == raft.Voter:
		return r.enter(m, r.raft.AddVoter, "a master has another address")
	case !there:
		return r.enter(m, r.raft.AddNonvoter, "a master listens until it has what the others agreed on")
	case applied == 0 || applied+nearly < r.raft.AppliedIndex():
		return nil // it asks again
	default:
		return r.enter(m, r.raft.AddVoter, "a master joined the cluster")
	}
}

// enter changes the configuration by one master.
func (r *Replica) enter(m Member, change func(raft.ServerID, raft.ServerAddress, uint64, time.Duration) raft.IndexFuture, what string) error {
	err := r.gate.through(func() error {
		return failure(change(raft.ServerID(m.ID), raft.ServerAddress(m.Raft), 0, barrierTimeout).Error())
	})
	if err != nil {
		return fmt.Errorf("add the master %s: %w", m.ID, err)
	}
	r.logger.Info(what, "id", m.ID, "raft", m.Raft)
	return nil
}

// rivals returns the masters whose name or address m has taken over.
func (r *Replica) rivals(ctx context.Context, m Member) (gone []raft.Server, err error) {
	for _, s := range r.servers() {
		id, address := string(s.ID), string(s.Address)
		switch {
		case id == m.ID:
		case address == m.Raft:
			gone = append(gone, s)
		case nameOf(id) == m.Name:
			if r.expectAt(ctx, address, id) == nil {
				return nil, offers.Errorf(offers.Forbidden, "the name %s is taken by the master at %s: give one of them another --name", m.Name, address)
			}
			gone = append(gone, s)
		}
	}
	return gone, nil
}

// expectAt fails unless the master of that id answers at address.
func (r *Replica) expectAt(ctx context.Context, address, id string) error {
	if id == r.self.ID {
		return nil
	}
	seen, err := r.port.call(ctx, address, request{Call: "info", From: r.self}, callTimeout)
	if err != nil {
		return err
	}
	if seen.ID != id {
		return fmt.Errorf("%s answers at %s instead", seen.ID, address)
	}
	return nil
}

// validate refuses what another master can't be.
func (m Member) validate() error {
	if !validName(m.Name) || nameOf(m.ID) != m.Name || len(m.ID) > 128 || m.ID == m.Name {
		return fmt.Errorf("a master's id is name@random, not %.140q", m.ID)
	}
	if err := validAddress(m.Raft); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// answer serves the peer calls.
func (r *Replica) answer(ctx context.Context, q request) response {
	if q.From.validate() == nil && q.From.ID != r.self.ID {
		r.seeking.learn(q.From.Raft)
		r.roster.learn(q.From)
	}
	switch q.Call {
	case "info":
		return response{Info: r.describe(q.From)}
	case "join":
		if err := r.Join(ctx, q.From, q.Applied); err != nil {
			return response{Error: asError(err)}
		}
		return response{Info: r.describe(q.From)}
	default:
		return response{Error: offers.Errorf(offers.UnknownType, "the peer call %.40q is unknown to this version", q.Call)}
	}
}

func (r *Replica) describe(to Member) *info {
	leader, _ := r.Leader()
	known := r.server(to.ID)
	return &info{
		Member: r.self, ClusterID: r.State().ClusterID(), HasState: len(r.servers()) > 0,
		Leader: leader, CountsYou: known != nil && known.Suffrage == raft.Voter, Sees: r.seeking.seen(),
	}
}
