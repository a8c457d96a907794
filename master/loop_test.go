package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/meter"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// stage is a leading loop over a real replica, and peers over in-memory links.
type stage struct {
	testing.TB
	*loop
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageWith(t, match.Config{OfferTimeout: time.Minute})
}

func newStageWith(t *testing.T, config match.Config) *stage {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := replica.Open(replica.Config{
		Name: "m1", DataDir: t.TempDir(), Listen: "127.0.0.1:0", HTTP: "127.0.0.1:1", BootstrapExpect: 1,
		Pace: 200 * time.Millisecond, Door: d, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(loopConfig{
		name: "m1", address: "127.0.0.1:1", door: d, match: config,
		agentTimeout: time.Minute, removalEvery: time.Second, removalBurst: 3,
	}, r, hclog.NewNullLogger())
	go l.run(t.Context())
	t.Cleanup(func() {
		<-l.stopped
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{t, l}
	for {
		if _, err := l.picture(t.Context()); err == nil {
			return s
		}
	}
}

// peer is a scripted framework or agent.
type peer struct {
	testing.TB
	link wire.Link
	from wire.Vocabulary
}

func (s *stage) connect(serve func(wire.Link, visitor), from wire.Vocabulary) *peer {
	s.Helper()
	theirs, ours := wire.Pipe(wire.Options{})
	go serve(ours, visitor{})
	s.Cleanup(func() { theirs.Close("done") })
	return &peer{s.TB, theirs, from}
}

func (p *peer) send(m wire.Message, request string) {
	p.Helper()
	frame, err := wire.Encode(m, request)
	if err != nil {
		p.Fatal(err)
	}
	if err := p.link.Send(frame); err != nil {
		p.Fatal(err)
	}
}

// expect returns the next message of type M and fails on an error message
// that was not asked for.
func expect[M wire.Message](p *peer) M {
	p.Helper()
	for {
		frame, err := p.link.Receive()
		if err != nil {
			p.Fatalf("waiting for %T: %v", *new(M), err)
		}
		m, _, err := wire.Decode(p.from, frame)
		if err != nil {
			p.Fatal(err)
		}
		if want, ok := m.(M); ok {
			return want
		}
		if e, ok := m.(*wire.ErrorMessage); ok {
			p.Fatalf("waiting for %T: error %s: %s", *new(M), e.Code, e.Message)
		}
	}
}

func (s *stage) agent(name string, known ...wire.AgentTask) (*peer, offers.AgentID) {
	s.Helper()
	return s.agentAgain("", name, known...)
}

func (s *stage) agentAgain(id offers.AgentID, name string, known ...wire.AgentTask) (*peer, offers.AgentID) {
	s.Helper()
	p := s.connect(s.serveAgent, wire.ToAgent)
	p.send(&wire.RegisterAgent{Agent: offers.Agent{ID: id, Name: name, Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000, 4 << 30}}}, Tasks: known}, "")
	return p, expect[*wire.AgentRegistered](p).AgentID
}

func (s *stage) framework(id offers.FrameworkID) (*peer, offers.FrameworkID) {
	s.Helper()
	p := s.connect(s.serveFramework, wire.ToFramework)
	p.send(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f", Role: "default"}}, "")
	return p, expect[*wire.Registered](p).FrameworkID
}

func (p *peer) demand(text string) {
	p.send(&wire.DemandMessage{Demands: []json.RawMessage{json.RawMessage(text)}}, "")
}

func (p *peer) accept(o wire.Offer, tasks ...string) {
	m := &wire.Accept{OfferIDs: []offers.OfferID{o.ID}}
	for _, t := range tasks {
		m.Tasks = append(m.Tasks, json.RawMessage(t))
	}
	p.send(m, "")
}

func task(id string) string {
	return fmt.Sprintf(`{"id":%q,"resources":{"cpus":1},"command":{"shell":"true"}}`, id)
}

func (p *peer) report(f offers.FrameworkID, id string, s offers.State, update string) {
	p.send(&wire.Statuses{Statuses: []wire.TaskStatus{{Framework: f, Status: offers.Status{
		Task: offers.TaskID(id), State: s, UpdateID: offers.UpdateID(update), Time: time.Now(),
	}}}}, "")
}

// launched brings one task to the agent.
func launched(s *stage, agent, f *peer, id string) {
	s.Helper()
	f.demand(`{"id":"d-` + id + `","count":1,"resources":{"cpus":1}}`)
	f.accept(expect[*wire.OffersMessage](f).Offers[0], task(id))
	if got := expect[*wire.Accepted](f).TaskIDs; len(got) != 1 || got[0] != offers.TaskID(id) {
		s.Fatalf("accepted %v, want %s", got, id)
	}
	if got := expect[*wire.Launch](agent).Tasks; len(got) != 1 || got[0].Task.ID != offers.TaskID(id) {
		s.Fatalf("launched %v, want %s", got, id)
	}
}

func TestWayOfATask(t *testing.T) {
	s := newStage(t)
	agent, _ := s.agent("a1")
	f, id := s.framework("")
	launched(s, agent, f, "t1")
	ref := offers.TaskRef{Framework: id, Task: "t1"}

	agent.report(id, "t1", offers.Running, "u1")
	agent.report(id, "t1", offers.Finished, "u2")
	if got := expect[*wire.Update](f).Status; got.State != offers.Running {
		t.Fatalf("the first update is %s, want running", got.State)
	}
	f.send(&wire.Acknowledge{TaskID: "t1", UpdateID: "u2"}, "") // not the one under way
	f.send(&wire.Acknowledge{TaskID: "t1", UpdateID: "u1"}, "")
	if got := expect[*wire.Update](f).Status; got.State != offers.Finished {
		t.Fatalf("the second update is %s, want finished", got.State)
	}
	if got := expect[*wire.AcknowledgeStatus](agent).Acknowledged[0].UpdateID; got != "u1" {
		t.Fatalf("the agent hears that %s is acknowledged, want u1", got)
	}
	if rec := s.replica.State().Task(ref); rec.End == nil || rec.Acknowledged {
		t.Fatal("the end is delivered before it is durable, or acknowledged by nobody")
	}
	f.send(&wire.Acknowledge{TaskID: "t1", UpdateID: "u2"}, "")
	if got := expect[*wire.AcknowledgeStatus](agent).Acknowledged[0].UpdateID; got != "u2" {
		t.Fatalf("the agent hears that %s is acknowledged, want u2", got)
	}
}

func TestDecisionsAreTimed(t *testing.T) {
	s := newStage(t)
	s.agent("a1")
	f, _ := s.framework("")
	f.demand(`{"id":"d","count":1,"resources":{"cpus":1}}`)
	expect[*wire.OffersMessage](f)
	p, err := s.picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	timed := map[string]*dto.Histogram{}
	for _, family := range gathered(t, s.meters.register) {
		timed[family.GetName()] = family.GetMetric()[0].GetHistogram()
	}
	if h := timed["ringmaster_decision_seconds"]; h.GetSampleCount() != p.Match.Counters.Decisions || h.GetSampleSum() == 0 {
		t.Errorf("%d of %d decisions took %v s", h.GetSampleCount(), p.Match.Counters.Decisions, h.GetSampleSum())
	}
	for _, name := range []string{"ringmaster_turn_seconds", "ringmaster_commit_seconds"} {
		if h := timed[name]; h.GetSampleCount() == 0 || h.GetSampleSum() == 0 {
			t.Errorf("%s: %d took %v s", name, h.GetSampleCount(), h.GetSampleSum())
		}
	}
}

func TestFrameworkComesBackAndFencesTheFirst(t *testing.T) {
	s := newStage(t)
	agent, _ := s.agent("a1")
	first, id := s.framework("")
	launched(s, agent, first, "t1")
	agent.report(id, "t1", offers.Running, "u1")
	expect[*wire.Update](first)

	second, again := s.framework(id)
	if again != id {
		t.Fatalf("came back as %s, want %s", again, id)
	}
	if got := expect[*wire.Update](second).Status; got.UpdateID != "u1" {
		t.Fatalf("the unacknowledged update was not sent again, but %+v", got)
	}
	frame, err := first.link.Receive()
	if m, _, derr := wire.Decode(wire.ToFramework, frame); err != nil || derr != nil || m.(*wire.ErrorMessage).Code != offers.FailedOver {
		t.Fatalf("the first connection got %s %v, want failed_over", frame, err)
	}
}

func TestAgentThatMissedALaunchGetsItOnReturn(t *testing.T) {
	s := newStage(t)
	agent, aid := s.agent("a1")
	f, id := s.framework("")
	launched(s, agent, f, "seen")
	launched(s, agent, f, "missed")
	agent.link.Close("the network broke")
	again, _ := s.agentAgain(aid, "a1",
		wire.AgentTask{TaskRef: offers.TaskRef{Framework: id, Task: "seen"}, State: offers.Running},
		wire.AgentTask{TaskRef: offers.TaskRef{Framework: id, Task: "stray"}, State: offers.Running})
	if got := expect[*wire.Launch](again).Tasks; len(got) != 1 || got[0].Task.ID != "missed" {
		t.Fatalf("launched %+v, want the one it missed", got)
	}
	f.send(&wire.Reconcile{TaskIDs: []offers.TaskID{"seen", "nobody"}}, "")
	if got := expect[*wire.Update](f).Status; got.State != offers.Running || got.UpdateID != "" {
		t.Fatalf("reconcile says %+v, want running", got)
	}
	if got := expect[*wire.Update](f).Status; got.State != offers.Dropped || got.Reason != offers.ReasonUnknownTask {
		t.Fatalf("reconcile of an unknown task says %+v", got)
	}
	expect[*wire.Reconciled](f)
}

func TestAgentWithNewFolderReplacesTheOld(t *testing.T) {
	s := newStage(t)
	agent, _ := s.agent("a1")
	f, _ := s.framework("")
	launched(s, agent, f, "t1")
	s.agent("a1")
	if got := expect[*wire.Update](f).Status; got.State != offers.Gone || got.UpdateID == "" {
		t.Fatalf("update is %+v, want gone", got)
	}
}

func TestKillIsDurableAndReachesTheAgent(t *testing.T) {
	s := newStage(t)
	agent, aid := s.agent("a1")
	f, id := s.framework("")
	launched(s, agent, f, "t1")
	f.send(&wire.Kill{TaskID: "t1"}, "")
	if got := expect[*wire.KillTask](agent); got.Task != "t1" {
		t.Fatalf("kill names %s", got.Task)
	}
	agent.link.Close("the network broke")
	again, _ := s.agentAgain(aid, "a1", wire.AgentTask{TaskRef: offers.TaskRef{Framework: id, Task: "t1"}, State: offers.Running})
	if got := expect[*wire.KillTask](again); got.Task != "t1" {
		t.Fatalf("after its return the kill names %s", got.Task)
	}
}

func TestBadRequestsDisturbNothing(t *testing.T) {
	s := newStage(t)
	s.agent("a1")
	f := s.connect(s.serveFramework, wire.ToFramework)
	code := func(frame, want string) {
		t.Helper()
		if err := f.link.Send([]byte(frame)); err != nil {
			t.Fatal(err)
		}
		for {
			answer, err := f.link.Receive()
			if err != nil {
				t.Fatal(err)
			}
			m, env, err := wire.Decode(wire.ToFramework, answer)
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := m.(*wire.ErrorMessage); ok {
				if string(e.Code) != want || e.Message == "" {
					t.Fatalf("%s: got %s (%s), want %s", frame, e.Code, e.Message, want)
				}
				if env.RequestID != "r" && frame[0] == '{' {
					t.Fatalf("%s: the answer does not echo the request id", frame)
				}
				return
			}
		}
	}
	code(`{"type":"suppress","request_id":"r"}`, "not_registered")
	code(`nonsense`, "bad_message")
	code(`{"type":"register","request_id":"r","framework":{"name":""}}`, "bad_message")
	code(`{"type":"register","request_id":"r","framework":{"name":"x","role":"a//b"}}`, "bad_message")
	code(`{"type":"register","request_id":"r","framework":{"name":"x","id":"f09999-beef"}}`, "unknown_framework")
	f.send(&wire.Register{Framework: wire.FrameworkInfo{Name: "f"}}, "")
	expect[*wire.Registered](f)
	code(`{"type":"register","request_id":"r","framework":{"name":"x"}}`, "bad_message")
	code(`{"type":"whatever","request_id":"r"}`, "unknown_type")
	code(`{"type":"demand","request_id":"r","demands":[{"id":"x","count":1,"resources":{"cpus":-1}}]}`, "bad_demand")
	code(`{"type":"accept","request_id":"r","offer_ids":["o1-1"],"tasks":[]}`, "offer_gone")
	code(`{"type":"kill","request_id":"r","task_id":"nobody"}`, "unknown_task")
	code(`{"type":"state","request_id":"r","op":"steal","key":"k"}`, "bad_message")
	f.demand(`{"id":"d","count":1,"resources":{"cpus":1}}`)
	expect[*wire.OffersMessage](f)
}

func TestStoreComparesAndSets(t *testing.T) {
	s := newStage(t)
	f, _ := s.framework("")
	zero := uint64(0)
	f.send(&wire.StateRequest{Op: "put", Key: "k", Value: json.RawMessage(`{"a":1}`), Version: &zero}, "")
	if got := expect[*wire.StateAnswer](f); got.Version != 1 {
		t.Fatalf("put made version %d, want 1", got.Version)
	}
	f.send(&wire.StateRequest{Op: "get", Key: "k"}, "")
	if got := expect[*wire.StateAnswer](f); string(got.Value) != `{"a":1}` || got.Version != 1 {
		t.Fatalf("got %+v", got)
	}
	f.send(&wire.StateRequest{Op: "put", Key: "k", Value: json.RawMessage(`2`), Version: &zero}, "")
	frame, _ := f.link.Receive()
	if m, _, _ := wire.Decode(wire.ToFramework, frame); m.(*wire.ErrorMessage).Code != offers.VersionConflict {
		t.Fatalf("a put on an old version got %s", frame)
	}
}

// The last picture stays in memory until somebody wants another one, which may be
// as long as all that frameworks store is written over.
func TestPictureKeepsNothingStored(t *testing.T) {
	s := newStage(t)
	f, id := s.framework("")
	f.send(&wire.StateRequest{Op: "put", Key: "k", Value: json.RawMessage(`1`)}, "")
	expect[*wire.StateAnswer](f)
	p, err := s.picture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.State.Framework(id) == nil || p.State.Entry(id, "k").Version != 0 {
		t.Errorf("the picture has the framework as %+v, and of its store %+v", p.State.Framework(id), p.State.Entry(id, "k"))
	}
	if got := s.replica.State().Entry(id, "k"); string(got.Value) != "1" {
		t.Errorf("the state has %+v stored", got)
	}
}

func TestTeardownKillsAndRefusesTheID(t *testing.T) {
	s := newStage(t)
	agent, _ := s.agent("a1")
	f, id := s.framework("")
	launched(s, agent, f, "t1")
	f.send(&wire.Teardown{}, "")
	if got := expect[*wire.KillTask](agent); got.Task != "t1" {
		t.Fatalf("kill names %s", got.Task)
	}
	// Nobody is left to acknowledge, so the master does.
	agent.report(id, "t1", offers.Running, "u1")
	agent.report(id, "t1", offers.Killed, "u2")
	for _, want := range []offers.UpdateID{"u1", "u2"} {
		if got := expect[*wire.AcknowledgeStatus](agent).Acknowledged[0].UpdateID; got != want {
			t.Fatalf("acknowledged %s, want %s", got, want)
		}
	}
	again := s.connect(s.serveFramework, wire.ToFramework)
	again.send(&wire.Register{Framework: wire.FrameworkInfo{ID: id, Name: "f"}}, "")
	frame, _ := again.link.Receive()
	if m, _, _ := wire.Decode(wire.ToFramework, frame); m.(*wire.ErrorMessage).Code != offers.FrameworkRemoved {
		t.Fatalf("a removed framework got %s", frame)
	}
}

func TestOperatorsCommandsReachTheMatcher(t *testing.T) {
	s := newStage(t)
	s.agent("a1")
	f, _ := s.framework("")
	limit := &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: offers.QuotaAmounts{"cpus": 2000}}}
	results, err := s.command(t.Context(), state.Command{SetRole: &state.SetRole{Role: "default", Settings: limit}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	f.demand(`{"id":"d","count":9,"resources":{"cpus":1}}`)
	if got := expect[*wire.OffersMessage](f).Offers[0].Resources.Amounts[offers.CPUs]; got != 2000 {
		t.Fatalf("offered %d thousandths of a cpu, want the limit of 2000", got)
	}
}

func TestLargeTurnsAreCutIntoEntries(t *testing.T) {
	big := lead.Step{Command: state.Command{Put: &state.Put{Value: make([]byte, 1<<20)}}}
	batch := make([]lead.Step, 40)
	for i := range batch {
		batch[i] = big
	}
	for len(batch) > 0 {
		n := entrySize(batch)
		if weight := n * big.Command.Weight(); n < 1 || weight > entryWeight {
			t.Fatalf("an entry takes %d of %d steps, %d bytes", n, len(batch), weight)
		}
		batch = batch[n:]
	}
	many := make([]lead.Step, entryCommands+1)
	if n := entrySize(many); n != entryCommands {
		t.Fatalf("an entry takes %d steps, want %d", n, entryCommands)
	}
}

// fullLink takes nothing.
type fullLink struct{ wire.Link }

func (fullLink) Send([]byte) error { return wire.ErrSlow }
func (fullLink) Form() wire.Form   { return wire.JSON }

// counted is a message that counts how often it was written out.
type counted struct{ times *int }

func (c counted) Type() string { return "counted" }
func (c counted) MarshalJSON() ([]byte, error) {
	*c.times++
	return []byte(`{}`), nil
}

// The loop writes nothing out for a peer whose link was cut: it would keep
// everybody else waiting.
func TestNothingIsWrittenOutForACutLink(t *testing.T) {
	s := &session{loop: &loop{logger: hclog.NewNullLogger(), meters: newMeters(new(meter.List))}, link: fullLink{}}
	times := 0
	for range 3 {
		s.Send(counted{&times}, "")
	}
	if times != 1 {
		t.Fatalf("written out %d times, want once", times)
	}
}

func TestQuestionsEndWithTheLeadership(t *testing.T) {
	s := newStage(t)
	asked := make(chan struct{})
	answered := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), s.loop, func(*lead.Core, func(struct{}, error)) { close(asked) })
		answered <- err
	}()
	<-asked
	s.inbox.enter(func(*lead.Core) { s.stepDown("the test says so") })
	if err := <-answered; !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
		t.Fatalf("a question left open got %v, want unavailable", err)
	}
}

func TestAnsweredQuestionsAreForgotten(t *testing.T) {
	s := newStage(t)
	received := make(chan struct{})
	go func() {
		_, err := ask(t.Context(), s.loop, func(_ *lead.Core, answer func(struct{}, error)) {
			answer(struct{}{}, nil)
			<-received // the one who asked may be faster than the loop
		})
		if err != nil {
			t.Error(err)
		}
		close(received)
	}()
	<-received
	kept := make(chan int)
	s.inbox.enter(func(*lead.Core) { kept <- len(s.unanswered) })
	if n := <-kept; n != 0 {
		t.Errorf("%d questions are kept that were answered", n)
	}
}

// TestLargeBatchesAreSolvedBesideTheLoop: what is matched there comes as offers, one
// that is solved after its core is gone comes to nothing, and the loop ends with
// neither.
func TestLargeBatchesAreSolvedBesideTheLoop(t *testing.T) {
	s := newStageWith(t, match.Config{OfferTimeout: time.Minute, Placement: offers.Match, Apart: 2})
	s.agent("a1")
	s.agent("a2")
	f, _ := s.framework("")
	for _, id := range []string{"d1", "d2"} {
		if got := f.wait(`{"id":"` + id + `","count":2,"resources":{"cpus":1}}`); len(got) == 0 || string(got[0]) != id {
			t.Errorf("offered are %v, want some of %s", got, id)
		}
	}
	// A puzzle of another core is nobody's: the present one goes on as it was.
	_, err := ask(t.Context(), s.loop, func(_ *lead.Core, answer func(struct{}, error)) {
		s.solve(lead.New(lead.Config{}, s.replica.State(), time.Now()), &match.Puzzle{})
		answer(struct{}{}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.wait(`{"id":"d3","count":1,"resources":{"cpus":1}}`); len(got) != 1 || got[0] != "d3" {
		t.Errorf("offered are %v, want d3", got)
	}
}

// TestWhatSessionsSayFirstIsReadInTurn: the first frame waits for its turn, those
// after it for none.
func TestWhatSessionsSayFirstIsReadInTurn(t *testing.T) {
	s := newStage(t)
	known, _ := s.agent("known")
	for range cap(s.greeting) {
		s.greeting.enter()
	}
	p := s.connect(s.serveAgent, wire.ToAgent)
	p.send(&wire.RegisterAgent{Agent: offers.Agent{Name: "new", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000, 4 << 30}}}}, "")
	known.send(&wire.RegisterAgent{}, "")
	for { // an agent that registers again is told that it may not
		frame, err := known.link.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m, _, err := wire.Decode(wire.ToAgent, frame); err != nil {
			t.Fatal(err)
		} else if _, refused := m.(*wire.ErrorMessage); refused {
			break
		}
	}
	if _, err := s.command(t.Context(), touch()); err != nil { // what came before it is committed, too
		t.Fatal(err)
	}
	if now, err := s.picture(t.Context()); err != nil || len(now.AgentOnline) != 1 {
		t.Errorf("%v, %v: want the one agent that was there", now.AgentOnline, err)
	}
	for range cap(s.greeting) {
		s.greeting.leave()
	}
	expect[*wire.AgentRegistered](p)
}

// lastHeard is a link of which the other end has not been heard since.
type lastHeard struct {
	wire.Link
	at time.Time
}

func (l lastHeard) Heard() time.Time { return l.at }

// TestSilenceCountsFromTheLastSignOfLife of the connection, whatever it was, and
// not from its end or from the last message.
func TestSilenceCountsFromTheLastSignOfLife(t *testing.T) {
	s := newStage(t)
	p := s.connect(func(link wire.Link, v visitor) {
		s.serveAgent(lastHeard{link, time.Now().Add(-s.config.agentTimeout)}, v)
	}, wire.ToAgent)
	p.send(&wire.RegisterAgent{Agent: offers.Agent{Name: "a", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{4000, 4 << 30}}}}, "")
	id := expect[*wire.AgentRegistered](p).AgentID
	p.link.Close("it is gone")
	for deadline := time.Now().Add(s.config.agentTimeout / 2); ; {
		now, err := s.picture(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now.State.Agent(id).State == offers.AgentUnreachable {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not given up; it was silent for long enough")
		}
	}
}
