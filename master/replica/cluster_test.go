package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

const nobody = "127.0.0.1:1" // an address where no master is

// config of a master on loopback that waits for no one by default.
func config(t testing.TB, name string) Config {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := Config{
		Name: name, DataDir: dir, RuntimeDir: filepath.Dir(dir), Listen: "127.0.0.1:0", HTTP: name + ".example:5050",
		BootstrapExpect: 1, Pace: 300 * time.Millisecond, Door: d, Logger: hclog.NewNullLogger(),
	}
	if os.Getenv("REPLICA_LOG") != "" {
		c.Logger = hclog.New(&hclog.LoggerOptions{Name: name, Level: hclog.LevelFromString(os.Getenv("REPLICA_LOG"))})
	}
	return c
}

func start(t testing.TB, c Config) *Replica {
	t.Helper()
	r, err := Open(c)
	if err != nil {
		t.Fatalf("open %s: %v", c.Name, err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// crash ends r without handing anything over.
func crash(r *Replica) { r.closing.Do(func() { r.closed = r.release() }) }

// three starts a cluster of m1, m2, m3; only m1's address is told to the others.
func three(t testing.TB, change func(*Config)) []*Replica {
	t.Helper()
	var out []*Replica
	join := nobody
	for i := range 3 {
		c := config(t, fmt.Sprintf("m%d", i+1))
		c.BootstrapExpect, c.Join = 3, []string{join}
		if change != nil {
			change(&c)
		}
		out = append(out, start(t, c))
		join = out[0].Self().Raft
	}
	return out
}

// eventually waits for what other goroutines and sockets bring about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(60 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within 60 s: %s", what)
		}
	}
}

// leaderOf waits until all of rs follow one of them that is ready to lead, and
// hold the configuration: one that followed without it, and crashed, would know
// nobody when it came back.
func leaderOf(t testing.TB, rs ...*Replica) *Replica {
	t.Helper()
	var leader *Replica
	eventually(t, "one leader", func() bool {
		i := slices.IndexFunc(rs, (*Replica).IsLeader)
		if i < 0 {
			return false
		}
		leader = rs[i]
		for _, r := range rs {
			if l, ok := r.Leader(); !ok || l.ID != leader.self.ID || !r.belongs() {
				return false
			}
		}
		return leader.State().ClusterID() != "" && leader.VerifyLeader() == nil
	})
	return leader
}

func setRole(role string, weight float64) state.Command {
	return state.Command{SetRole: &state.SetRole{Role: offers.Role(role), Settings: &offers.RoleSettings{Weight: weight}}}
}

func apply(t testing.TB, r *Replica, batch ...state.Command) {
	t.Helper()
	results, err := r.Apply(0, batch).Wait()
	if err != nil {
		t.Fatalf("apply on %s: %v", r.self.Name, err)
	}
	for _, res := range results {
		if res.Err != nil {
			t.Fatalf("apply on %s: %v", r.self.Name, res.Err)
		}
	}
}

// agree applies batch on whoever of rs leads: on a machine that is busy another
// may be elected at any time.
func agree(t testing.TB, rs []*Replica, batch ...state.Command) {
	t.Helper()
	eventually(t, "a majority agrees", func() bool {
		_, err := leaderOf(t, rs...).Apply(0, batch).Wait()
		return err == nil
	})
}

func weigh(t testing.TB, role string, weight float64, rs ...*Replica) {
	t.Helper()
	for _, r := range rs {
		eventually(t, fmt.Sprintf("%s has role %s of weight %v", r.self.Name, role, weight), func() bool {
			s, ok := r.State().Role(offers.Role(role))
			return ok && s.Weight == weight
		})
	}
}

func without(rs []*Replica, gone *Replica) []*Replica {
	return slices.DeleteFunc(slices.Clone(rs), func(r *Replica) bool { return r == gone })
}
