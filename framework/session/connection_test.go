package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// said returns what is sent, with the demands and how much is left of each.
func (s *script) said() string {
	s.tb.Helper()
	var out []string
	for _, f := range s.Take().Frames {
		m, env, err := wire.Decode(wire.FromFramework, f)
		if err != nil {
			s.tb.Fatal(err)
		}
		line := env.Type
		switch m := m.(type) {
		case *wire.Register:
			line += " " + string(m.Framework.ID)
		case *wire.Reconcile:
			line += fmt.Sprint(" ", m.TaskIDs)
		case *wire.DemandMessage:
			for _, raw := range m.Demands {
				var d struct {
					ID    string
					Count *int
				}
				if err := json.Unmarshal(raw, &d); err != nil {
					s.tb.Fatal(err)
				}
				if line += " " + d.ID; d.Count != nil {
					line += fmt.Sprintf("=%d", *d.Count)
				}
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func (s *script) says(want string) {
	s.tb.Helper()
	if got := s.said(); got != want {
		s.tb.Fatalf("it says %q, want %q", got, want)
	}
}

// A master that is silent for three heartbeats and 2 s is left; before it has
// answered the registration it has a minute, whatever else it says.
func TestSilentMasterIsLeft(t *testing.T) {
	after := func(d time.Duration) time.Time { return time.Time{}.Add(d) }
	hangup := func(s *script, at time.Duration) bool {
		s.Tick(after(at))
		return s.Take().Hangup != ""
	}
	s := start(t)
	if hangup(s, 5*time.Second) || !hangup(s, 5*time.Second+1) {
		t.Error("not left after 5 s of silence and no less")
	}
	s.Frame(after(5*time.Second), []byte(`{"type":"heartbeat"}`))
	if hangup(s, 10*time.Second) || !hangup(s, 10*time.Second+1) {
		t.Error("not left 5 s after the last heartbeat and no sooner")
	}
	s.Heard(after(10 * time.Second))
	if hangup(s, 15*time.Second) {
		t.Error("left for a silence of the shell's own")
	}
	s.Lost(errors.New("lost"))
	if s.Take(); hangup(s, time.Hour) {
		t.Error("nobody is there to be left")
	}

	s = &script{tb: t, Session: session.New(wire.FrameworkInfo{Name: "test"}, "c")}
	s.Connected(after(0), wire.JSON)
	s.Frame(after(59*time.Second), []byte(`{"type":"heartbeat"}`))
	if hangup(s, time.Minute) || !hangup(s, time.Minute+1) {
		t.Error("not left after a minute without an answer and no less")
	}
}

// Demands and the wish for silence hold over every connection; how much is
// left of a demand is counted by what was accepted.
func TestWishesHoldOverConnections(t *testing.T) {
	s := start(t)
	three := 3
	if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &three}, offers.Demand{ID: "w", Resources: unit}); err != nil {
		t.Fatal(err)
	}
	s.says("demand d=3 w")
	s.frame(`{"type":"offers","offers":[{"id":"o","demand_id":"d","agent":{"id":"a"},"resources":{"cpus":2}}]}`)
	if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t1", Resources: unit}}, nil); err != nil {
		t.Fatal(err)
	}
	s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t1"],"request_id":"accept:3"}`)
	s.Suppress()
	s.says("accept, suppress")
	if s.Left("d") != 2 || s.Left("w") != -1 {
		t.Errorf("left are %d and %d", s.Left("d"), s.Left("w"))
	}
	s.Lost(errors.New("lost"))
	s.connect(2)
	s.says("register f1, suppress, demand d=2 w")
	s.Revive()
	s.Withdraw("w", "never stated")
	s.says("revive, demand w=0")
	s.Lost(errors.New("lost"))
	s.connect(2)
	s.says("register f1, demand d=2")
	s.Teardown()
	s.says("teardown")
	s.Lost(errors.New("lost"))
	s.connect(2)
	s.says("register f1, teardown")
}

// While nobody knows what became of an accept, its units are neither demanded
// again nor given up; the answer decides.
func TestLostAcceptIsInDoubt(t *testing.T) {
	for answer, left := range map[string]int{
		update("t1", offers.Dropped, "", "unknown_task"):   2,
		update("t1", offers.Staging, "", "reconciliation"): 1,
		update("t1", offers.Failed, "u1", ""):              1,
	} {
		s := start(t)
		two := 2
		if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &two}); err != nil {
			t.Fatal(err)
		}
		s.frame(`{"type":"offers","offers":[{"id":"o","demand_id":"d","agent":{"id":"a"},"resources":{"cpus":1}}]}`)
		if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t1", Resources: unit}}, nil); err != nil {
			t.Fatal(err)
		}
		s.Lost(errors.New("lost"))
		s.said()
		s.connect(2)
		s.says("register f1, demand d=1, reconcile [t1]")
		s.frame(answer)
		if n := s.Left("d"); n != left {
			t.Errorf("%d are left after %s, want %d", n, answer, left)
		}
		s.frame(`{"type":"reconciled","request_id":"settle"}`)
		want := ""
		if left == 2 {
			want = "demand d=2"
		}
		s.says(want)
	}
}

// A task that was heard of before its accept was answered has used its unit,
// whether or not that answer comes, save where it never started.
func TestUpdateAheadOfItsAnswerCounts(t *testing.T) {
	for _, c := range []struct {
		first  string
		left   int // once the connection is lost, and another is there
		stated string
		asked  string
	}{
		{update("t1", offers.Running, "u1", ""), 2, "demand d=1", "t2"},
		{update("t1", offers.Finished, "u1", ""), 2, "demand d=1", "t2"},
		{update("t1", offers.Staging, "", "reconciliation"), 3, "demand d=1", "t1 t2"},
		{update("t1", offers.Rejected, "", "bad_task"), 3, "demand d=2", "t2"},
		{update("t1", offers.Dropped, "", "agent_lost"), 3, "demand d=2", "t2"},
	} {
		s := start(t)
		three := 3
		if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &three}); err != nil {
			t.Fatal(err)
		}
		s.frame(`{"type":"offers","offers":[{"id":"o","demand_id":"d","agent":{"id":"a"},"resources":{"cpus":2}}]}`)
		if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t1", Resources: unit}, {ID: "t2", Resources: unit}}, nil); err != nil {
			t.Fatal(err)
		}
		s.frame(c.first)
		s.Lost(errors.New("lost"))
		s.said()
		s.connect(2)
		s.says("register f1, " + c.stated + ", reconcile [" + c.asked + "]")
		if n := s.Left("d"); n != c.left {
			t.Errorf("%d are left after %s, want %d", n, c.first, c.left)
		}
		s.frame(update("t2", offers.Staging, "", "reconciliation"))
		if n := s.Left("d"); n != c.left-1 {
			t.Errorf("%d are left in the end, want %d", n, c.left-1)
		}
	}
}

// A demand is stated again while an accept of it is in flight, and so for more
// than is left once that has an answer. What is met is withdrawn.
func TestMetDemandLeavesNothingBehind(t *testing.T) {
	s := start(t)
	two := 2
	if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &two}); err != nil {
		t.Fatal(err)
	}
	accept := func(id offers.TaskID) {
		t.Helper()
		s.frame(`{"type":"offers","offers":[{"id":"o","demand_id":"d","agent":{"id":"a"},"resources":{"cpus":1}}]}`)
		if err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: id, Resources: unit}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	accept("t1")
	s.Lost(errors.New("lost"))
	s.connect(2)
	accept("t2")
	s.frame(update("t1", offers.Dropped, "", "unknown_task"))
	s.said()
	s.frame(`{"type":"reconciled","request_id":"settle"}`)
	s.says("demand d=2")
	s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t2"]}`)
	s.says("")
	accept("t3")
	s.frame(`{"type":"accepted","offer_ids":["o"],"task_ids":["t3"]}`)
	s.says("accept, demand d=0")
}

// An offer that was taken back is not there to be accepted.
func TestRescindedOfferIsGone(t *testing.T) {
	s := start(t)
	s.frame(`{"type":"offers","offers":[{"id":"o","agent":{"id":"a"},"resources":{"cpus":9}}]}`, `{"type":"rescind","offer_ids":["o","never"],"reason":"expired"}`)
	s.want("Offered, Rescinded")
	err := s.Accept([]offers.OfferID{"o"}, []offers.Task{{ID: "t", Resources: unit}}, nil)
	if !errors.Is(err, &offers.Error{Code: offers.OfferGone}) {
		t.Errorf("accepted: %v", err)
	}
	s.want("")
}

// What can't be met is told of a demand that stands, and changes nothing.
func TestHopelessDemandStands(t *testing.T) {
	s := start(t)
	one := 1
	if err := s.Demand(offers.Demand{ID: "d", Resources: unit, Count: &one}); err != nil {
		t.Fatal(err)
	}
	s.says("demand d=1")
	s.frame(`{"type":"waiting","demand_id":"d","stopped":["npu"],"message":"no agent that is known has npu"}`, `{"type":"waiting","demand_id":"e","stopped":[],"message":"it was withdrawn"}`)
	s.want("Waits")
	s.frame(`{"type":"offers","offers":[{"id":"o","agent":{"id":"a"},"resources":{"cpus":9},"demand_id":"d"}]}`)
	s.want("Offered")
}
