package replica

import (
	"context"
	"fmt"

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

// belongs reports whether this master knows itself to be part of a cluster.
func (r *Replica) belongs() bool {
	for _, s := range r.servers() {
		if string(s.ID) == r.self.ID {
			return true
		}
	}
	return false
}

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
		m := Member{ID: string(s.ID), Name: nameOf(string(s.ID)), Raft: string(s.Address)}
		out = append(out, r.roster.fill(m, r.self))
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

// AddVoter makes m a voting master, or enters its new address; on the leader
// only. A master that has the name or the address of m but does not answer
// there any more is replaced.
func (r *Replica) AddVoter(ctx context.Context, m Member) error {
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
	replaced, known, err := r.rivals(ctx, m)
	if err != nil || known {
		return err
	}
	for _, s := range replaced {
		if err := r.dismiss(s); err != nil {
			return err
		}
	}
	if err := r.vote(m); err != nil {
		return err
	}
	r.logger.Info("a master joined the cluster", "id", m.ID, "raft", m.Raft)
	return nil
}

// vote enters m, or its new address, as a voter.
func (r *Replica) vote(m Member) error {
	err := r.gate.through(func() error {
		return failure(r.raft.AddVoter(raft.ServerID(m.ID), raft.ServerAddress(m.Raft), 0, barrierTimeout).Error())
	})
	if err != nil {
		return fmt.Errorf("add the master %s: %w", m.ID, err)
	}
	return nil
}

// rivals returns the masters whose name or address m has taken over; known
// says that m is in the cluster as it is already.
func (r *Replica) rivals(ctx context.Context, m Member) (gone []raft.Server, known bool, err error) {
	for _, s := range r.servers() {
		id, address := string(s.ID), string(s.Address)
		switch {
		case id == m.ID && address == m.Raft:
			return nil, true, nil
		case id == m.ID:
		case address == m.Raft:
			gone = append(gone, s)
		case nameOf(id) == m.Name:
			if r.expectAt(ctx, address, id) == nil {
				return nil, false, offers.Errorf(offers.Forbidden, "the name %s is taken by the master at %s: give one of them another --name", m.Name, address)
			}
			gone = append(gone, s)
		}
	}
	return gone, false, nil
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
		return response{Info: r.describe()}
	case "join":
		if err := r.AddVoter(ctx, q.From); err != nil {
			return response{Error: asError(err)}
		}
		return response{Info: r.describe()}
	default:
		return response{Error: offers.Errorf(offers.UnknownType, "the peer call %.40q is unknown to this version", q.Call)}
	}
}

func (r *Replica) describe() *info {
	leader, _ := r.Leader()
	return &info{
		Member: r.self, ClusterID: r.State().ClusterID(), HasState: len(r.servers()) > 0,
		Leader: leader, Sees: r.seeking.seen(),
	}
}
