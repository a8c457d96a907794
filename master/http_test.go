package master

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/meter"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// scene is an HTTP interface over a picture that no loop moves.
type scene struct {
	testing.TB
	*api
	server *httptest.Server
	shown  *picture
	orders []state.Command // what operators committed

	moving   sync.Mutex
	leader   replica.Member // "" is none
	changed  chan struct{}
	leads    chan struct{}
	silent   string   // id of the master that does not answer
	verify   error    // of VerifyLeader
	refused  error    // of command and of what moves masters
	moved    []string // what was asked of the replica
	restored *state.State
}

var self = replica.Member{ID: "m1@1", Name: "m1", Raft: "127.0.0.1:5051", HTTP: "127.0.0.1:5050"}

func newScene(t testing.TB, token string) *scene {
	t.Helper()
	d, err := door.Open(door.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{TB: t, leader: self, shown: newPicture(t), changed: make(chan struct{}), leads: make(chan struct{})}
	close(s.leads)
	s.api = &api{
		loop: s, replica: s, entrance: newGate(), looks: newGate(), unsent: wire.NewUnsent(unsentSize), feed: newFeed(), meters: newMeters(new(meter.List)), door: d, logger: hclog.NewNullLogger(), version: "test", agents: &http.Transport{},
		framework: func(l wire.Link, _ visitor) { l.Close("seen") },
		agent:     func(l wire.Link, _ visitor) { l.Close("seen") },
		follower:  func(l wire.Link, _ visitor) { l.Close("seen") },
	}
	s.api.build()
	s.server = httptest.NewServer(s.api)
	t.Cleanup(s.server.Close)
	return s
}

func (s *scene) picture(context.Context) (*picture, error) { return s.shown, nil }
func (s *scene) held(context.Context) (map[offers.AgentID]offers.Holding, error) {
	out := map[offers.AgentID]offers.Holding{}
	for _, a := range s.shown.Match.Agents {
		if a.Offered.Amounts != (offers.Amounts{}) {
			out[a.ID] = a.Offered
		}
	}
	return out, nil
}
func (s *scene) state(context.Context) (*state.State, error) { return s.shown.State, nil }
func (s *scene) explain(_ context.Context, q question) (answered, error) {
	return q.ask(lead.New(lead.Config{}, s.shown.State, dawn), s.shown.State), s.refused
}
func (s *scene) command(_ context.Context, c ...state.Command) ([]state.Result, error) {
	s.orders = append(s.orders, c...)
	next, results := s.shown.State.Apply(c)
	s.shown.State = next
	return results, s.refused
}
func (s *scene) restore(_ context.Context, by *state.State) error {
	s.restored = by
	return s.refused
}
func (s *scene) Progress() replica.Progress {
	return replica.Progress{Last: 12, Committed: 11, Applied: 10, Silence: 250 * time.Millisecond}
}
func (s *scene) TransferLeadership() error { return s.move("transfer") }
func (s *scene) TransferLeadershipTo(_ context.Context, name string) error {
	return s.move("transfer to " + name)
}
func (s *scene) Remove(_ context.Context, name string) error { return s.move("remove " + name) }
func (s *scene) move(what string) error {
	s.moved = append(s.moved, what)
	return s.refused
}
func (s *scene) VerifyLeader() error { return s.verify }
func (s *scene) Leader() (replica.Member, bool) {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.leader, s.leader.ID != ""
}
func (s *scene) LeaderChanged() <-chan struct{} {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.changed
}
func (s *scene) begun() <-chan struct{} {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.leads
}

// elect lets somebody lead.
func (s *scene) elect(m replica.Member) {
	s.moving.Lock()
	defer s.moving.Unlock()
	s.leader = m
	close(s.changed)
	s.changed = make(chan struct{})
}
func (s *scene) Members() []replica.Member {
	return []replica.Member{self, {ID: "m2@2", Name: "m2", Raft: "127.0.0.2:5051", HTTP: "127.0.0.2:5050"}}
}
func (s *scene) Silent(id string) bool { return s.silent == id }
func (s *scene) Self() replica.Member  { return self }
func (s *scene) State() *state.State   { return s.shown.State }
func (s *scene) Term() uint64          { return 7 }

var dawn = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const gib = 1 << 30

// newPicture is a small cluster: two agents, one with GPUs and one away, two
// frameworks, a running task, a task on the agent that is away, one that failed.
func newPicture(t testing.TB) *picture {
	t.Helper()
	s := state.New()
	commit := func(c state.Command) any {
		next, results := s.Apply([]state.Command{c})
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		s = next
		return results[0].Value
	}
	commit(state.Command{Init: &state.Init{ClusterID: "c0de0123456789abcdef"}})
	agent := func(name string, classes ...offers.DeviceClass) *state.Agent {
		return commit(state.Command{RegisterAgent: &state.RegisterAgent{Time: dawn, Agent: offers.Agent{
			Name: name, Host: name + ".example", Address: "10.0.0.1:5060", Attributes: map[string]string{"rack": "r1"}, Version: "v1", Started: dawn,
			Total: offers.Inventory{Amounts: offers.Amounts{4500, 8 * gib, 100 * gib, 0}, Ports: offers.Ports{{First: 31000, Last: 31009}}, Classes: classes},
		}}}).(*state.Agent)
	}
	gpus := offers.DeviceClass{Name: "gpu", Devices: []offers.Device{{ID: "g0", Capacity: 24 * gib}, {ID: "g1", Capacity: 24 * gib}}}
	near, away := agent("a1", gpus), agent("a2")
	framework := func(name string, role offers.Role) *state.Framework {
		return commit(state.Command{RegisterFramework: &state.RegisterFramework{Name: name, Role: role, User: "u", FailoverTimeout: 10 * time.Minute, Time: dawn}}).(*state.Framework)
	}
	batch, web := framework("batch", "eng/ml"), framework("web", "ops")
	grant := map[string][]offers.Grant{"gpu": {{ID: "g0", Index: 0, Memory: 10 * gib, Share: 500}}}
	launch := func(f *state.Framework, a *state.Agent, id offers.TaskID, devices map[string][]offers.Grant) {
		task := state.TaskRecord{Framework: f.ID, Agent: a.ID, Role: f.Role, Created: dawn.Add(time.Minute),
			Spec:    offers.Task{ID: id, Name: "n-" + string(id), Command: &offers.Command{Shell: "true"}, Resources: offers.Resources{Amounts: offers.Amounts{1500, gib, 0, 0}}},
			Holding: offers.Holding{Amounts: offers.Amounts{1500, gib, 0, 0}, Devices: offers.DevicesOf(devices)}}
		if devices != nil {
			task.Spec.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 10 * gib, Share: 500}}
		}
		commit(state.Command{Launch: &state.Launch{Task: task}})
	}
	launch(batch, near, "t1", grant)
	launch(batch, near, "t2", nil)
	launch(web, away, "t1", nil)
	code := 3
	commit(state.Command{EndTask: &state.EndTask{Ref: offers.TaskRef{Framework: batch.ID, Task: "t2"}, Status: offers.Status{
		Task: "t2", Agent: near.ID, State: offers.Failed, UpdateID: "u2", Reason: "", Message: "exit status 3", ExitCode: &code, Started: dawn.Add(2 * time.Minute), Time: dawn.Add(3 * time.Minute)}}})
	commit(state.Command{SetAgentState: &state.SetAgentState{ID: away.ID, State: offers.AgentUnreachable, Time: dawn.Add(time.Hour)}})
	commit(state.Command{SetRole: &state.SetRole{Role: "eng", Settings: &offers.RoleSettings{Weight: 2, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 100500, "gpu": 96 * gib}}}}})
	commit(state.Command{DisconnectFramework: &state.DisconnectFramework{ID: web.ID, Deadline: dawn.Add(2 * time.Hour)}})

	held := offers.Holding{Amounts: offers.Amounts{500, gib, 0, 0}}
	room := offers.NewRoom(near.Total)
	used := offers.Holding{Amounts: offers.Amounts{1500, gib, 0, 0}, Devices: offers.DevicesOf(grant)}
	room.Claim(used)
	room.Claim(held)
	return &picture{
		State: s, Term: 7, AgentOnline: map[offers.AgentID]bool{near.ID: true}, Connected: map[offers.FrameworkID]bool{batch.ID: true},
		Reports: lead.ReportsOf(map[offers.TaskRef]offers.Status{{Framework: batch.ID, Task: "t1"}: {Task: "t1", State: offers.Running, Healthy: new(true), Devices: grant, Started: dawn.Add(2 * time.Minute), Time: dawn.Add(2 * time.Minute)}}),
		Match: &match.View{
			Agents:     []match.AgentView{{ID: near.ID, Online: true, Used: used, Offered: held, Free: room.Rest(), Devices: room.Classes()}},
			Frameworks: map[offers.FrameworkID]match.FrameworkView{batch.ID: {Used: used.Amounts, Offered: held.Amounts, Share: 0.25, Dominant: "gpu", Demands: 2}},
			Roles:      []match.RoleView{{Role: "eng", Settings: offers.RoleSettings{Weight: 2, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 100500, "gpu": 96 * gib}}}, Share: 0.25, Dominant: "gpu", Used: map[string]int64{"cpus": 2000, "gpu": 10 * gib}, Frameworks: 1}},
			Offers: []offers.Offer{{ID: "o9-7", Framework: batch.ID, Demand: "d1", Agent: near.ID, Units: 1, Unit: offers.Resources{Amounts: held.Amounts}, Held: held, Ring: offers.RingRef{Resource: "cpus", Index: 2}, Expires: dawn.Add(time.Hour)},
				{ID: "o10-7", Framework: batch.ID, Agent: near.ID, Expires: dawn.Add(time.Hour)}},
			Rings: []match.RingSetView{{Name: "cpus", Rings: []match.RingView{{Index: 1, From: 0, To: 2000}, {Index: 2, From: 2000, To: -1, Agents: []match.RingAgent{{ID: near.ID, Free: 2500}}}}},
				{Name: "mem", Rings: []match.RingView{{Index: 1, From: 0, To: -1, Agents: []match.RingAgent{{ID: near.ID, Free: 6 * gib}}}}}},
			Waiting: 3, Pending: map[string]int{"mem": 3},
			Counters: match.Counters{Issued: 5, Accepted: 2, Declined: 1, Rescinded: 1, Decisions: 9},
			Searches: map[offers.Placement]uint64{offers.Rings: 9},
		},
	}
}

// ask sends a request and follows no redirect.
func (s *scene) ask(method, path, body string, header ...string) (int, http.Header, string) {
	s.Helper()
	req, err := http.NewRequest(method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	s.described(req, resp, text)
	return resp.StatusCode, resp.Header, string(text)
}

// wantError asks and compares status, code and a part of the message.
func (s *scene) wantError(method, path, body string, status int, code offers.Code, says string) {
	s.Helper()
	got, _, text := s.ask(method, path, body)
	var answer struct{ Error offers.Error }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || got != status || answer.Error.Code != code || !strings.Contains(answer.Error.Message, says) {
		s.Errorf("%s %s: %d %s; want %d %s with %q", method, path, got, text, status, code, says)
	}
}

func TestMasterThatDoesNotAnswer(t *testing.T) {
	s := newScene(t, "")
	s.silent = "m2@2"
	if _, _, text := s.ask("GET", "/v1/masters", ""); !strings.Contains(text, `"name":"m2","address":"127.0.0.2:5050","raft":"127.0.0.2:5051","role":"unreachable"`) {
		t.Errorf("masters: %s", text)
	}
}

func TestShapesAreGolden(t *testing.T) {
	s := newScene(t, "")
	s.sample(t.Context(), dawn)
	for name, path := range map[string]string{
		"status": "/v1/status", "masters": "/v1/masters", "agents": "/v1/agents", "agent": "/v1/agents/a00001",
		"frameworks": "/v1/frameworks", "framework": "/v1/frameworks/f00002", "tasks": "/v1/tasks", "task": "/v1/tasks/f00001:t1",
		"offers": "/v1/offers", "rings": "/v1/rings", "roles": "/v1/roles", "agents_stale": "/v1/agents?stale=true",
		"floor": "/v1/floor", "usage": "/v1/usage",
	} {
		status, header, text := s.ask("GET", path, "")
		if status != 200 || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, status, text)
			continue
		}
		var got bytes.Buffer
		if err := json.Indent(&got, []byte(text), "", "  "); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".golden.json")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs from %s (UPDATE_GOLDEN=1 writes it anew):\n%s", path, file, &got)
		}
	}
}

// TestWhenAgentsAreAsked: an idle agent asks for the leader after 25 s, which spares
// asking it; of a shorter silence it has half to answer.
func TestWhenAgentsAreAsked(t *testing.T) {
	for silence, want := range map[time.Duration]time.Duration{
		agentSilence: 30 * time.Second, 20 * time.Second: 10 * time.Second, 2 * time.Second: time.Second,
	} {
		if got := agentPing(silence); got != want {
			t.Errorf("of a silence of %v it is asked after %v, want %v", silence, got, want)
		}
	}
}
