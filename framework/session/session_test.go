package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var unit = offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000}}

// script drives one session and writes what comes out as short lines.
type script struct {
	tb testing.TB
	*session.Session
	requests []string // the ids of what take returned last
}

func start(tb testing.TB) *script {
	s := &script{tb: tb, Session: session.New(wire.FrameworkInfo{Name: "test", Role: "r"}, "c")}
	s.connect(1)
	s.take()
	return s
}

func (s *script) connect(term uint64) {
	s.Connected(time.Time{}, wire.JSON)
	s.frame(fmt.Sprintf(`{"type":"registered","framework_id":"f1","master":{"term":%d},"heartbeat":"1s"}`, term))
}

func (s *script) frame(frames ...string) {
	for _, f := range frames {
		s.Frame(time.Time{}, []byte(f))
		if err := s.Check(); err != nil {
			s.tb.Fatalf("after %s: %v", f, err)
		}
	}
}

// take returns the output on one line.
func (s *script) take() string {
	out := s.Take()
	s.requests = nil
	var lines []string
	for _, f := range out.Frames {
		m, env, err := wire.Decode(wire.FromFramework, f)
		if err != nil {
			s.tb.Fatal(err)
		}
		s.requests = append(s.requests, env.RequestID)
		line := env.Type
		switch m := m.(type) {
		case *wire.Acknowledge:
			line += " " + string(m.UpdateID)
		case *wire.Reconcile:
			line += fmt.Sprint(" ", m.TaskIDs)
		case *wire.Decline:
			line += fmt.Sprint(" ", m.OfferIDs)
		case *wire.Kill:
			line += " " + string(m.TaskID)
		}
		lines = append(lines, line)
	}
	for _, e := range out.Events {
		switch e := e.(type) {
		case session.Updated:
			lines = append(lines, fmt.Sprintf("Updated %s %s", e.Status.Task, e.Status.State))
		case session.Refused:
			lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("Refused %s %s %s", e.Request, e.Demand, e.Err.Code)), " "))
		default:
			lines = append(lines, strings.TrimPrefix(fmt.Sprintf("%T", e), "session."))
		}
	}
	if out.Hangup != "" {
		lines = append(lines, "hang up")
	}
	if out.End != nil {
		lines = append(lines, "end: "+out.End.Error())
	}
	return strings.Join(lines, ", ")
}

func (s *script) want(want string) {
	s.tb.Helper()
	if got := s.take(); got != want {
		s.tb.Fatalf("got  %q\nwant %q", got, want)
	}
}

func (s *script) accept(ids ...offers.TaskID) {
	s.tb.Helper()
	s.frame(`{"type":"offers","offers":[{"id":"o","agent":{"id":"a"},"resources":{"cpus":9}}]}`)
	var tasks []offers.Task
	for _, id := range ids {
		tasks = append(tasks, offers.Task{ID: id, Resources: unit})
	}
	if err := s.Accept([]offers.OfferID{"o"}, tasks, nil); err != nil {
		s.tb.Fatal(err)
	}
	s.want("accept, Offered")
}

func update(task offers.TaskID, state offers.State, id, reason string) string {
	return fmt.Sprintf(`{"type":"update","status":{"task_id":%q,"state":%q,"update_id":%q,"reason":%q,"time":"2026-01-01T00:00:00Z"}}`, task, state, id, reason)
}

func refusal(request string) string {
	return fmt.Sprintf(`{"type":"error","code":"bad_demand","message":"m","request_id":%q}`, request)
}

func handled(task offers.TaskID, state offers.State, id offers.UpdateID) session.Updated {
	return session.Updated{Status: offers.Status{Task: task, State: state, UpdateID: id}}
}

func TestUpdatesAreAcknowledgedAfterTheyWereHandled(t *testing.T) {
	s := start(t)
	s.frame(update("t", "running", "u1", ""), update("t", "running", "u1", ""))
	s.want("Updated t running")
	s.Handled(handled("t", "running", "u1"))
	s.want("acknowledge u1")
	s.frame(update("t", "running", "u1", "")) // the acknowledgement was lost
	s.want("acknowledge u1")
	s.frame(update("t", "finished", "", "reconciliation")) // the answer to a question comes first
	s.want("Updated t finished")
	s.frame(update("t", "finished", "u2", "")) // the same end, which wants an acknowledgement
	s.want("")
	s.Handled(handled("t", "finished", ""))
	s.want("acknowledge u2")
	s.frame(update("t", "finished", "u2", ""))
	s.want("acknowledge u2")
}

func TestWhatAnErrorMeansForAnAccept(t *testing.T) {
	fail := func(code offers.Code) string {
		return fmt.Sprintf(`{"type":"error","code":%q,"message":"m","request_id":"accept:1"}`, code)
	}
	for code, want := range map[offers.Code]string{
		offers.OfferGone:   "Refused accept offer_gone",
		offers.MixedAgents: "Refused accept mixed_agents",
		offers.TaskIDInUse: "reconcile [t1 t2], Refused accept task_id_in_use",
		offers.Forbidden:   "decline [o], reconcile [t1 t2], Refused accept forbidden",
		offers.RateLimited: "decline [o], reconcile [t1 t2], Refused accept rate_limited",
		offers.TooLarge:    "decline [o], reconcile [t1 t2], Refused accept too_large",
		offers.Unavailable: "Refused accept unavailable, hang up",
		offers.NotLeader:   "hang up",
		offers.FailedOver:  "end: m",
	} {
		s := start(t)
		s.accept("t1", "t2")
		s.frame(fail(code))
		if got := s.take(); got != want {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
		if code == offers.Unavailable { // nothing is proved: the next leader is asked
			s.Lost(errors.New("hung up"))
			s.take()
			s.connect(2)
			s.want("register, reconcile [t1 t2], Reconnected")
		}
	}
}

func TestKillWaitsForTheAccept(t *testing.T) {
	s := start(t)
	s.accept("t1", "t2")
	s.Kill("t1", nil)
	s.want("")
	s.frame(update("t2", "dropped", "", "unknown_task")) // a question that overtook the accept proves nothing
	s.want("")
	s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t1","t2"]}`)
	s.want("kill t1, Accepted")
	s.Kill("never", nil)
	s.frame(`{"type":"error","code":"unknown_task","message":"m","request_id":"kill:never"}`)
	s.want("kill never, Refused kill unknown_task")
	s.Lost(errors.New("lost"))
	s.take()
	s.connect(2)
	s.want("register, kill t1, Reconnected")
}

// A framework may wish the end of what an earlier instance of it has seen end.
func TestKillOfWhatHasEnded(t *testing.T) {
	s := start(t)
	s.Kill("old", nil)
	s.want("kill old")
	s.frame(strings.Replace(update("old", "finished", "", ""), `{"type"`, `{"request_id":"kill:old","type"`, 1))
	s.want("Updated old finished")
	s.Handled(handled("old", "finished", ""))
	s.Lost(errors.New("lost"))
	s.take()
	s.connect(2)
	s.want("register, Reconnected")
	s.accept("old")
}

// What was asked for after an error about an accept is asked for again when the
// answer is lost, whatever else was answered.
func TestLostAnswersAboutAnAccept(t *testing.T) {
	for _, code := range []offers.Code{offers.TaskIDInUse, offers.Forbidden} {
		s := start(t)
		s.accept("t1", "t2")
		s.frame(fmt.Sprintf(`{"type":"error","code":%q,"message":"m","request_id":"accept:1"}`, code))
		want := "register, reconcile [t1 t2], Reconnected"
		if code == offers.TaskIDInUse {
			s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t1"],"request_id":"accept:1"}`)
			want = "register, reconcile [t2], Reconnected"
		}
		for range 2 {
			s.Lost(errors.New("lost"))
			s.take()
			s.connect(2)
			s.want(want)
		}
	}
}

// A task is launched under the id of one that has ended. What the master said
// of that one comes behind the accept.
func TestAnswersAboutThePastOfAnID(t *testing.T) {
	s := start(t)
	s.frame(update("t", "failed", "life.2", ""))
	s.Handled(handled("t", "failed", "life.2"))
	s.Reconcile("t")
	s.take()
	s.accept("t")
	answer := func(state offers.State) string {
		return strings.Replace(update("t", state, "", ""), `{"type"`, `{"request_id":"reconcile:1","type"`, 1)
	}
	s.frame(answer(offers.Failed), `{"type":"reconciled","request_id":"reconcile:1"}`)
	s.want("Reconciled")
	s.frame(update("t", "failed", "life.2", "")) // the acknowledgement was lost
	s.want("acknowledge life.2")
	s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t"]}`, update("t", "failed", "life.2", ""), update("t", "finished", "next.2", ""))
	s.want("acknowledge life.2, Accepted, Updated t finished")
}

func TestLaunchOnItsWayIsAskedForAgain(t *testing.T) {
	s := start(t)
	s.accept("t1")
	s.Lost(errors.New("lost"))
	s.connect(1)
	s.frame(update("t1", "staging", "", "reconciliation")) // not yet on a majority
	s.take()
	s.Lost(errors.New("lost"))
	s.take()
	s.connect(2)
	s.want("register, reconcile [t1], Reconnected")
	s.frame(update("t1", "dropped", "", "unknown_task"))
	s.want("Updated t1 dropped")
}

func TestRefusedDemandStandsNoLonger(t *testing.T) {
	s := start(t)
	one := 1
	if err := s.Demand(offers.Demand{ID: "x:y", Resources: unit, Count: &one}); err != nil {
		t.Fatal(err)
	}
	s.want("demand")
	s.frame(refusal(s.requests[0]))
	s.want("Refused demand x:y bad_demand")
	if s.Left("x:y") != 0 {
		t.Errorf("left is %d", s.Left("x:y"))
	}
	for range 2 {
		if err := s.Demand(offers.Demand{ID: "x:y", Resources: unit}); err != nil {
			t.Fatal(err)
		}
	}
	s.want("demand, demand")
	s.frame(refusal(s.requests[0])) // of one that was replaced since
	s.want("")
	if s.Left("x:y") != -1 {
		t.Errorf("left is %d, want the demand that took its place", s.Left("x:y"))
	}
}

// TestRefusedByName: an error that names the demand of several is about that one,
// and about none that has taken its place since.
func TestRefusedByName(t *testing.T) {
	s := start(t)
	two := 2
	demands := []offers.Demand{{ID: "a", Resources: unit, Count: &two}, {ID: "b", Resources: unit}, {ID: "c", Resources: unit, Count: &two}, {ID: "c", Resources: unit}}
	if err := s.Demand(demands...); err != nil {
		t.Fatal(err)
	}
	m, env, err := wire.Decode(wire.FromFramework, s.Take().Frames[0])
	if err != nil || len(m.(*wire.DemandMessage).Demands) != 3 {
		t.Fatalf("stated are %+v, %v; want those that stand", m, err)
	}
	together := env.RequestID
	if err := s.Demand(demands[0]); err != nil {
		t.Fatal(err)
	}
	s.want("demand")
	for _, id := range []string{"a", "b", "b", "c"} {
		s.frame(fmt.Sprintf(`{"type":"error","code":"bad_demand","message":"m","request_id":%q,"demand_id":%q}`, together, id))
	}
	s.want("Refused demand b bad_demand, Refused demand c bad_demand")
	if s.Left("a") != 2 || s.Left("b") != 0 || s.Left("c") != 0 {
		t.Errorf("left are %d, %d and %d", s.Left("a"), s.Left("b"), s.Left("c"))
	}
}

// TestRefusedAmongOthers: an older master's answer to several demands does not say
// which of them is refused, so each is stated once more alone.
func TestRefusedAmongOthers(t *testing.T) {
	s := start(t)
	two := 2
	demands := []offers.Demand{{ID: "a", Resources: unit, Count: &two}, {ID: "b", Resources: unit}, {ID: "c", Resources: unit}, {ID: "d", Resources: unit}}
	if err := s.Demand(demands...); err != nil {
		t.Fatal(err)
	}
	s.want("demand")
	together := s.requests[0]
	s.Withdraw("c")
	if err := s.Demand(demands[3]); err != nil {
		t.Fatal(err)
	}
	s.want("demand, demand")
	s.frame(refusal(together), refusal(together)) // one for each that is refused
	s.want("demand, demand")
	s.frame(refusal(s.requests[1]))
	s.want("Refused demand b bad_demand")
	if s.Left("a") != 2 || s.Left("b") != 0 || s.Left("d") != -1 {
		t.Errorf("left are %d, %d and %d", s.Left("a"), s.Left("b"), s.Left("d"))
	}
}

func TestReconcileIsAskedAgain(t *testing.T) {
	s := start(t)
	s.Reconcile("t1")
	s.want("reconcile [t1]")
	s.Lost(errors.New("lost"))
	s.connect(1)
	s.want("register, reconcile [t1], Disconnected, Reconnected")
	s.frame(`{"type":"reconciled","request_id":"reconcile:1"}`, `{"type":"reconciled","request_id":"reconcile:1"}`)
	s.want("Reconciled")
}

// A master that can't tell whether it leads can't say what is known of a task.
func TestReconcileIsAskedOfAnother(t *testing.T) {
	for _, request := range []string{"reconcile:1", "settle"} {
		s := start(t)
		s.Reconcile("t1")
		s.take()
		s.frame(fmt.Sprintf(`{"type":"error","code":"unavailable","message":"m","request_id":%q}`, request))
		s.want("Refused " + strings.TrimSuffix(request, ":1") + " unavailable, hang up")
		s.Lost(errors.New("hung up"))
		s.connect(2)
		s.want("register, reconcile [t1], Disconnected, Reconnected")
	}
}

// A leader of an older term is not believed, whatever it says, and the offers
// of a lost connection are lost with it.
func TestOnlyTheNewestLeaderIsBelieved(t *testing.T) {
	s := start(t)
	s.frame(`{"type":"offers","offers":[{"id":"o","agent":{"id":"a"},"resources":{"cpus":9}}]}`)
	s.want("Offered")
	s.Lost(errors.New("lost"))
	if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t", Resources: unit}}, nil); !errors.Is(err, &offers.Error{Code: offers.OfferGone}) {
		t.Errorf("an offer of a lost connection: %v", err)
	}
	s.connect(3)
	s.want("register, Disconnected, Reconnected")
	s.Lost(errors.New("lost"))
	s.take()
	s.connect(2)
	s.want("register, hang up")
	s.frame(update("t", "running", "u1", ""), `{"type":"offers","offers":[{"id":"o","agent":{"id":"a"},"resources":{"cpus":9}}]}`)
	s.want("")
	s.connect(3)
	s.want("register, Reconnected")
}

func TestBadFramesHarmNothing(t *testing.T) {
	s := start(t)
	s.frame(`{"type":"from_the_future"}`, `{"type":"heartbeat","more":1}`)
	s.want("")
	s.frame(`{`, `{"type":"offers","offers":1}`)
	s.want("Refused bad_message, Refused bad_message")
}

func TestUnits(t *testing.T) {
	gib := int64(1 << 30)
	amounts := offers.Amounts{offers.CPUs: 4000, offers.Mem: gib}
	port := offers.MakePorts(offers.PortRange{First: 80, Last: 80})
	gpu := func(d wire.OfferedDevices) wire.Offered {
		return wire.Offered{Amounts: amounts, Devices: map[string]wire.OfferedDevices{"gpu": d}}
	}
	ask := func(a offers.DeviceAsk) offers.Resources {
		return offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": a}}
	}
	for _, c := range []struct {
		name string
		room wire.Offered
		unit offers.Resources
		want int
	}{
		{"amounts", wire.Offered{Amounts: amounts}, unit, 4},
		{"scarcest kind", wire.Offered{Amounts: amounts}, offers.Resources{Amounts: offers.Amounts{1000, gib / 2}}, 2},
		{"too large", wire.Offered{Amounts: amounts}, offers.Resources{Amounts: offers.Amounts{4001}}, 0},
		{"ports once", wire.Offered{Amounts: amounts, Ports: port}, offers.Resources{Amounts: unit.Amounts, Ports: port}, 1},
		{"any ports", wire.Offered{Amounts: amounts, Ports: offers.MakePorts(offers.PortRange{First: 80, Last: 84})}, offers.Resources{Amounts: unit.Amounts, AnyPorts: 2}, 2},
		{"too few ports", wire.Offered{Amounts: amounts, Ports: port}, offers.Resources{AnyPorts: 2}, 0},
		{"ports missing", wire.Offered{Amounts: amounts}, offers.Resources{Ports: port}, 0},
		{"counted whole devices", gpu(wire.OfferedDevices{Count: 6}), ask(offers.DeviceAsk{Count: 2}), 3},
		{"counted slices", gpu(wire.OfferedDevices{Count: 1, Memory: gib, Units: 5}), ask(offers.DeviceAsk{Count: 1, Memory: gib}), 5},
		{"one counted slice", gpu(wire.OfferedDevices{Count: 1, Memory: gib}), ask(offers.DeviceAsk{Count: 1, Memory: gib}), 1},
		{"smaller slice", gpu(wire.OfferedDevices{Count: 1, Memory: gib}), ask(offers.DeviceAsk{Count: 1, Memory: gib + 1}), 0},
		{"no device", wire.Offered{Amounts: amounts}, ask(offers.DeviceAsk{Count: 1}), 0},
		{"whole agent", gpu(wire.OfferedDevices{IDs: []string{"a", "b"}, Free: []int64{5 * gib, 3 * gib}}), ask(offers.DeviceAsk{Count: 1, Memory: 2 * gib}), 3},
		{"whole agent, pairs", gpu(wire.OfferedDevices{IDs: []string{"a", "b", "c"}, Free: []int64{9 * gib, gib, gib}}), ask(offers.DeviceAsk{Count: 2, Memory: gib}), 2},
	} {
		if got := session.Units(c.room, c.unit); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// FuzzFrame feeds anything to a session in the middle of its work, on one
// connection and over to the next.
func FuzzFrame(f *testing.F) {
	f.Add(update("t1", "running", "u", "")+"\n"+update("t1", "finished", "", ""), byte(3))
	f.Add(`{"type":"accepted","task_ids":["t1","t1"],"request_id":"accept:2"}`, byte(1))
	f.Add(`{"type":"error","code":"task_id_in_use","request_id":"accept:2"}`+"\n"+update("t2", "dropped", "", "offer_gone"), byte(2))
	f.Add(`{"type":"reconciled","request_id":"settle"}`+"\n"+`{"type":"rescind","offer_ids":["o2"]}`, byte(0))
	f.Add(`{"type":"state","request_id":"state:5"}`+"\n"+`{"type":"registered"}`, byte(0))
	f.Fuzz(func(t *testing.T, frames string, lost byte) {
		s := start(t)
		two := 2
		if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &two}); err != nil {
			t.Fatal(err)
		}
		s.frame(`{"type":"offers","offers":[{"id":"o","demand_id":"d","agent":{"id":"a"},"resources":{"cpus":2}},{"id":"o2","agent":{"id":"a"}}]}`)
		if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t1"}, {ID: "t2"}}, nil); err != nil {
			t.Fatal(err)
		}
		s.Kill("t2", nil)
		for i, frame := range strings.Split(frames, "\n") {
			if i == int(lost) {
				s.Lost(errors.New("lost"))
				s.connect(2)
			}
			s.frame(frame)
			for _, e := range s.Take().Events {
				if u, ok := e.(session.Updated); ok {
					s.Handled(u)
				}
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestAnotherInstanceLaunchesTheIDAnew: while this instance was away another
// one launched a task under an id that this one knows as ended. It learns of
// the later life, and acknowledges no end that nobody has seen.
func TestAnotherInstanceLaunchesTheIDAnew(t *testing.T) {
	end := func(t *testing.T) *script {
		s := start(t)
		s.frame(update("t", offers.Finished, "u1", ""))
		s.want("Updated t finished")
		s.Handled(handled("t", offers.Finished, "u1"))
		s.want("acknowledge u1")
		s.frame(update("t", offers.Running, "u0", ""), update("t", offers.Finished, "u1", ""))
		s.want("acknowledge u0, acknowledge u1") // of the life that it knows
		s.Lost(errors.New("gone"))
		s.connect(2)
		s.want("register, Disconnected, Reconnected")
		return s
	}
	t.Run("its end", func(t *testing.T) {
		s := end(t)
		s.frame(update("t", offers.Failed, "u9", ""))
		s.want("Updated t failed")
		s.Handled(handled("t", offers.Failed, "u9"))
		s.want("acknowledge u9")
		s.frame(update("t", offers.Failed, "u9", ""))
		s.want("acknowledge u9")
	})
	t.Run("its end, after one that only reconcile told", func(t *testing.T) {
		s := start(t)
		s.frame(update("t", offers.Finished, "", ""))
		s.want("Updated t finished")
		s.Handled(handled("t", offers.Finished, ""))
		s.frame(update("t", offers.Finished, "past.2", "")) // as it was told
		s.want("acknowledge past.2")
		s.frame(update("t", offers.Finished, "now.2", ""))
		s.want("Updated t finished")
	})
	t.Run("another end than the one that reconcile told", func(t *testing.T) {
		s := start(t)
		s.frame(update("t", offers.Finished, "", ""), update("t", offers.Failed, "now.2", ""))
		s.want("Updated t finished, Updated t failed")
	})
	t.Run("before the end is handled", func(t *testing.T) {
		s := start(t)
		s.frame(update("t", offers.Running, "past.1", ""), update("t", offers.Finished, "past.2", ""))
		s.want("Updated t running, Updated t finished")
		s.Handled(handled("t", offers.Running, "past.1"))
		s.want("acknowledge past.1")
		s.frame(update("t", offers.Running, "now.1", ""), update("t", offers.Finished, "past.2", ""))
		s.want("Updated t running")
		s.Handled(handled("t", offers.Finished, "past.2"))
		s.want("acknowledge past.2")
		s.Handled(handled("t", offers.Running, "now.1"))
		s.want("acknowledge now.1, acknowledge past.2")
		s.frame(update("t", offers.Killed, "now.2", ""))
		s.want("Updated t killed")
	})
	t.Run("its beginning", func(t *testing.T) {
		s := start(t)
		s.frame(update("t", offers.Running, "past.1", ""), update("t", offers.Gone, "m3", ""))
		s.want("Updated t running, Updated t gone")
		s.Handled(handled("t", offers.Running, "past.1"))
		s.Handled(handled("t", offers.Gone, "m3"))
		s.want("acknowledge past.1, acknowledge m3")
		s.frame(update("t", offers.Killing, "past.run.2", "")) // late, of the life that it knows
		s.want("acknowledge past.run.2")
		s.frame(update("t", offers.Running, "now.1", ""))
		s.want("Updated t running")
	})
	t.Run("an answer to reconcile", func(t *testing.T) {
		s := end(t)
		s.frame(update("t", offers.Finished, "", "")) // says what it knows
		s.want("")
		s.frame(update("t", offers.Running, "", ""))
		s.want("Updated t running")
	})
}
