package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
	"github.com/ringmaster-project/ringmaster/rings"
)

func masterConfig(t testing.TB, name string) Config {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: name, DataDir: t.TempDir(), HTTP: "127.0.0.1:0", Raft: "127.0.0.1:0", BootstrapExpect: 1,
		Version: "test", Door: d, Logger: hclog.NewNullLogger(),
	}
}

// runningMaster is a master in a goroutine of the test.
type runningMaster struct {
	*Master
	end  context.CancelFunc
	done chan error
}

func runMaster(t testing.TB, c Config) *runningMaster {
	t.Helper()
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	r := &runningMaster{m, end, make(chan error, 1)}
	go func() { r.done <- m.Run(ctx) }()
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (r *runningMaster) stop() error {
	r.end()
	err := <-r.done
	r.done <- err // for whoever asks again
	return err
}

// statusAt asks a master for /v1/status and follows redirects.
func statusAt(address string) (shown.Status, error) {
	var s shown.Status
	resp, err := http.Get("http://" + address + "/v1/status")
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, errors.New(resp.Status)
	}
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

func TestMasterServesAndStops(t *testing.T) {
	c := masterConfig(t, "m1")
	m := runMaster(t, c)
	<-m.Ready()
	s, err := statusAt(m.Address())
	if err != nil || s.Leader == nil || s.Leader.Name != "m1" || s.Leader.Address != m.Address() || s.Version != "test" || len(s.Masters) != 1 {
		t.Fatalf("status %+v, %v", s, err)
	}
	link, err := wire.Dial(t.Context(), "ws://"+m.Address()+wire.FrameworkPath, wire.FrameworkProtocol, nil, nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close("done")
	frame, err := wire.Encode(&wire.Register{Framework: wire.FrameworkInfo{Name: "batch", Role: "eng"}}, "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Send(frame); err != nil {
		t.Fatal(err)
	}
	answer, err := link.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if msg, _, err := wire.Decode(wire.ToFramework, answer); err != nil || msg.Type() != "registered" {
		t.Fatalf("%s, %v", answer, err)
	}

	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "another master or agent uses") {
		t.Errorf("a second master on the folder: %v", err)
	}
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the end of the connection shows
		_, err = link.Receive()
	}
	again := runMaster(t, c)
	<-again.Ready()
	if after, err := statusAt(again.Address()); err != nil || after.ClusterID != s.ClusterID || after.Frameworks != 1 {
		t.Errorf("after a restart %+v, %v", after, err)
	}
}

func TestThreeMastersRedirectAndTakeOver(t *testing.T) {
	ports := freePorts(t, 3)
	var all []*runningMaster
	for i, raft := range ports {
		c := masterConfig(t, fmt.Sprintf("m%d", i+1))
		c.Raft, c.BootstrapExpect, c.Join = raft, 3, ports
		all = append(all, runMaster(t, c))
	}
	var leader shown.Leader
	for _, m := range all {
		<-m.Ready()
	}
	awaitStatus(t, all, func(s shown.Status) bool {
		leader = *s.Leader
		return len(s.Masters) == 3
	})
	var rest []*runningMaster
	for _, m := range all {
		if m.Address() == leader.Address {
			if err := m.stop(); err != nil {
				t.Errorf("the leader stops: %v", err)
			}
			continue
		}
		rest = append(rest, m)
	}
	if len(rest) != 2 {
		t.Fatalf("%d masters left; the leader was %+v", len(rest), leader)
	}
	awaitStatus(t, rest, func(s shown.Status) bool { return s.Leader.Name != leader.Name })
}

// awaitStatus waits until every master of ms answers, itself or through a
// redirect, with a status that is ok.
func awaitStatus(t *testing.T, ms []*runningMaster, ok func(shown.Status) bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(60 * time.Second)
	for _, m := range ms {
		for {
			s, err := statusAt(m.Address())
			if err == nil && s.Leader != nil && ok(s) {
				break
			}
			select {
			case <-tick.C:
			case <-limit:
				t.Fatalf("%s within 60 s: %+v, %v", m.Address(), s, err)
			}
		}
	}
}

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out
}

func TestBadMasterConfigIsRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for says, change := range map[string]func(*Config){
		"http is missing":   func(c *Config) { c.HTTP = "" },
		"in use":            func(c *Config) { c.HTTP = taken.Addr().String() },
		"--insecure":        func(c *Config) { c.HTTP = "0.0.0.0:0" },
		"offer_timeout":     func(c *Config) { c.OfferTimeout = -1 },
		"agent_removal":     func(c *Config) { c.RemovalBurst = -1 },
		"match: d: NaN":     func(c *Config) { c.Matching = &match.Matching{D: math.NaN()} },
		"match window":      func(c *Config) { c.MatchWindow = -1 },
		"balance: thresh":   func(c *Config) { c.Balance = &match.Balance{Threshold: 2} },
		"rings: mem":        func(c *Config) { c.Rings = map[string]rings.Layout{"mem": {}} },
		"data_dir":          func(c *Config) { c.DataDir = "" },
		"bootstrap_expect":  func(c *Config) { c.BootstrapExpect = 4 },
		"door":              func(c *Config) { c.Door = nil },
		"advertise \"x\"":   func(c *Config) { c.AdvertiseHTTP = "x" },
		"name":              func(c *Config) { c.Name = "a/b" },
		"raft is missing":   func(c *Config) { c.Raft = "" },
		"agent_timeout is ": func(c *Config) { c.AgentTimeout = -1 },
	} {
		c := masterConfig(t, "m1")
		change(&c)
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// TestSilentAgentIsUnreachable holds that an agent which keeps its connection
// and is stopped, so that it does not even answer pings, is unreachable after
// the agent timeout and not after the connection's own patience.
func TestSilentAgentIsUnreachable(t *testing.T) {
	c := masterConfig(t, "m1")
	c.AgentTimeout = time.Second
	m := runMaster(t, c)
	<-m.Ready()
	link, err := wire.Dial(t.Context(), "ws://"+m.Address()+wire.AgentPath, wire.AgentProtocol, nil, nil, wire.Options{Ping: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close("done")
	frame, err := wire.Encode(&wire.RegisterAgent{Agent: offers.Agent{Name: "a1", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000, 4 << 30}}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Send(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Receive(); err != nil { // the last time that it reads
		t.Fatal(err)
	}
	for begin := time.Now(); ; {
		s, err := statusAt(m.Address())
		if err != nil {
			t.Fatal(err)
		}
		if s.Agents[offers.AgentUnreachable] == 1 {
			return
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("agents: %v", s.Agents)
		}
	}
}
