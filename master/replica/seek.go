package replica

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// How a cluster comes together. Every new master asks all it knows who they
// are, and tells what it sees. When exactly BootstrapExpect new masters see
// the same set, each of them, itself included, writes the same first
// configuration; whoever does it first is enough. Once any master belongs to a
// cluster nobody founds another one: the rest ask its leader to join.
const (
	seekFirst    = 100 * time.Millisecond
	seekLongest  = time.Second
	maxAddresses = 64 // that a seeker asks
)

// seeking is what a master without a cluster knows of others.
type seeking struct {
	mu        sync.Mutex
	addresses map[string]bool // to ask
	sees      []Member        // found in the last round, by id
	over      bool
	silence   map[string]string // why an address did not answer, when it was last told; by address
}

func (s *seeking) start(join []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = map[string]bool{}
	for _, a := range join {
		s.addresses[a] = true
	}
}

func (s *seeking) learn(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range addresses {
		if len(s.addresses) < maxAddresses && validAddress(a) == nil {
			s.addresses[a] = true
		}
	}
}

func (s *seeking) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.addresses))
}

// news reports whether it is new why an address does not answer; nil is an answer.
func (s *seeking) news(address string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.silence, address)
		return false
	}
	if s.silence == nil {
		s.silence = map[string]string{}
	}
	known := s.silence[address]
	s.silence[address] = err.Error()
	return known != err.Error()
}

func (s *seeking) saw(m []Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sees = m
}

func (s *seeking) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sees, s.over = nil, true
}

func (s *seeking) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func (s *seeking) seen() []Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sees
}

// seek ends once this master votes in a cluster that knows where it is.
func (r *Replica) seek() {
	said := ""
	for wait := seekFirst; ; wait = min(2*wait, seekLongest) {
		found := r.survey()
		if r.settled() && !r.forgotten(found) {
			break
		}
		state := r.step(found)
		if state != said && state != "" {
			r.logger.Info(state)
			said = state
		}
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
	}
	r.seeking.end()
}

// settled reports whether there is nothing to seek: the cluster has this
// master at its address with a vote, or this master is the cluster.
func (r *Replica) settled() bool {
	self := r.server(r.self.ID)
	return self != nil && self.Suffrage == raft.Voter && (string(self.Address) == r.self.Raft || len(r.servers()) == 1)
}

// forgotten reports whether the leader, if it is among those that were found,
// has this master among the voters no more: it was removed, and may not have
// been told.
func (r *Replica) forgotten(found []info) bool {
	ours := r.State().ClusterID() // "" until the log is read again after a start
	return slices.ContainsFunc(found, func(seen info) bool {
		return !seen.CountsYou && seen.Leader.ID == seen.ID && (ours == "" || seen.ClusterID == ours)
	})
}

// survey asks every known address and returns one answer a master, without
// our own, by id.
func (r *Replica) survey() []info {
	for _, m := range r.Members() {
		r.seeking.learn(m.Raft)
	}
	var mu sync.Mutex
	found := map[string]info{}
	var asked sync.WaitGroup
	for _, address := range r.seeking.known() {
		asked.Go(func() {
			seen, err := r.port.call(r.ctx, address, request{Call: "info", From: r.self}, callTimeout)
			if r.seeking.news(address, err) && r.ctx.Err() == nil {
				r.complain(address, err)
			}
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen.ID != r.self.ID && seen.Member.validate() == nil {
				found[seen.ID] = seen
			}
		})
	}
	asked.Wait()
	out := slices.SortedFunc(maps.Values(found), func(a, b info) int { return cmp.Compare(a.ID, b.ID) })
	for _, seen := range out {
		r.roster.learn(seen.Member)
		for _, m := range seen.Sees {
			r.seeking.learn(m.Raft)
		}
	}
	return out
}

// complain says why an address does not answer; one where nothing listens is
// most likely about to be started.
func (r *Replica) complain(address string, err error) {
	if errors.Is(err, syscall.ECONNREFUSED) {
		r.logger.Info("nobody listens there yet", "raft", address)
		return
	}
	r.logger.Warn("a master can't be asked", "raft", address, "error", err)
}

// step acts on what was found and returns what it waits for, "" for nothing
// worth telling.
func (r *Replica) step(found []info) string {
	fresh := []Member{r.self}
	for _, seen := range found {
		if seen.HasState {
			r.seeking.saw(nil)
			return r.joinThrough(found)
		}
		fresh = append(fresh, seen.Member)
	}
	if self := r.server(r.self.ID); self != nil && self.Suffrage != raft.Voter {
		return "waiting for the other masters: this one has no vote yet"
	}
	if r.belongs() {
		return "waiting for another master: this one's address changed to " + r.self.Raft
	}
	slices.SortFunc(fresh, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	r.seeking.saw(fresh)
	missing := r.config.BootstrapExpect - len(fresh)
	switch {
	case r.config.BootstrapExpect == 0:
		return "waiting for a cluster to join at " + strings.Join(r.config.Join, ", ")
	case twins(fresh) != "":
		return twins(fresh)
	case missing > 0:
		return fmt.Sprintf("waiting for more masters: %d of %d are here (%s)", len(fresh), r.config.BootstrapExpect, names(fresh))
	case missing < 0:
		return fmt.Sprintf("%d new masters are here (%s), but bootstrap_expect is %d: give all the same, or start the others once the cluster runs", len(fresh), names(fresh), r.config.BootstrapExpect)
	}
	for _, seen := range found {
		if !slices.EqualFunc(seen.Sees, fresh, func(a, b Member) bool { return a.ID == b.ID && a.Raft == b.Raft }) {
			return ""
		}
	}
	if err := r.bootstrap(fresh); err != nil {
		return err.Error()
	}
	return ""
}

// joinThrough asks the leader that one of the masters knows to let us in.
func (r *Replica) joinThrough(found []info) string {
	for _, seen := range found {
		if seen.Leader.ID == "" || seen.Leader.ID == r.self.ID {
			continue
		}
		if _, err := r.port.call(r.ctx, seen.Leader.Raft, request{Call: "join", From: r.self, Applied: r.raft.AppliedIndex()}, joinTimeout); err != nil {
			return fmt.Sprintf("the leader %s does not let this master join yet: %v", seen.Leader.Name, err)
		}
		return ""
	}
	return "waiting for the other masters to elect a leader"
}

// bootstrap writes the cluster's first configuration.
func (r *Replica) bootstrap(members []Member) error {
	var conf raft.Configuration
	for _, m := range members {
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Raft)})
	}
	err := r.gate.through(func() error { return r.raft.BootstrapCluster(conf).Error() })
	if errors.Is(err, raft.ErrCantBootstrap) {
		return errors.New("this master was part of a cluster before and can't found one: start the others, or give it an empty data folder")
	}
	if err != nil {
		return fmt.Errorf("found a cluster of %s: %w", names(members), err)
	}
	r.logger.Info("founds a cluster", "masters", names(members))
	return nil
}

// twins returns a complaint about two masters of one name, or "".
func twins(members []Member) string {
	at := map[string]string{}
	for _, m := range members {
		if other, taken := at[m.Name]; taken {
			return fmt.Sprintf("two masters are called %s, at %s and at %s: give each its own --name", m.Name, other, m.Raft)
		}
		at[m.Name] = m.Raft
	}
	return ""
}

func names(members []Member) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name)
	}
	return strings.Join(out, ", ")
}
