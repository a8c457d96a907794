package lead_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// traceparent is of the n-th trace.
func traceparent(n int) offers.Traceparent {
	return offers.Traceparent(fmt.Sprintf("00-%032x-%016x-01", n, n))
}

// wantSpans compares what was told of ways, with times in seconds since dawn.
func (l *scene) wantSpans(why string, dawn time.Time, want ...string) {
	l.Helper()
	var got []string
	for _, s := range l.spans {
		line := fmt.Sprintf("%s %s %v-%v", s.Name, s.Task.Task, s.Start.Sub(dawn).Seconds(), s.End.Sub(dawn).Seconds())
		for n := range 9 {
			switch traceparent(n) {
			case s.Parent:
				line += fmt.Sprint(" below ", n)
			case s.Self:
				line += fmt.Sprint(" is ", n)
			}
		}
		if s.Failed != "" {
			line += " failed: " + s.Failed
		}
		got = append(got, line)
	}
	l.spans = nil
	if !slices.Equal(got, want) {
		l.Errorf("%s: told is\n%q, want\n%q", why, got, want)
	}
}

// TestTracedWays launches three tasks of one accept: one that is part of a
// trace, one that is not, and one whose trace is not sampled. Offered after
// 0 s, accepted after 2, durable after 3. The next leader tells the ends.
func TestTracedWays(t *testing.T) {
	l := newScene(t)
	roots := 0
	l.config.Root = func() offers.Traceparent { roots++; return traceparent(roots) }
	l.succeed()
	dawn := l.now
	h, f := l.host("a", ""), l.author("")
	f.say(&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d","count":3,"resources":{"cpus":1}}`)}})
	offer := only[*wire.OffersMessage](f.listener).Offers[0]
	l.now = l.now.Add(2 * time.Second)
	m := acceptance(offer, "own")
	for id, parent := range map[offers.TaskID]offers.Traceparent{"part": traceparent(7), "silent": traceparent(8)[:53] + "00"} {
		m.Tasks = append(m.Tasks, json.RawMessage(fmt.Sprintf(`{"id":%q,"resources":{"cpus":1},"command":{"shell":"x"},"traceparent":%q}`, id, parent)))
	}
	slices.SortFunc(m.Tasks, func(a, b json.RawMessage) int { return slices.Compare(a, b) })
	f.hand(m)
	steps := l.propose()
	l.wantSpans("nothing is durable", dawn)
	l.now = l.now.Add(time.Second)
	l.agree(steps)
	l.commit()
	l.wantSpans("the launches are durable", dawn,
		"task own 0-3 is 1", "demand own 0-0 below 1", "offer own 0-2 below 1", "accept own 2-3 below 1",
		"demand part 0-0 below 7", "offer part 0-2 below 7", "accept part 2-3 below 7")
	for _, launch := range heard[*wire.Launch](h.listener) {
		task := launch.Tasks[0].Task
		if want := map[offers.TaskID]offers.Traceparent{"own": traceparent(1), "part": traceparent(7), "silent": traceparent(8)[:53] + "00"}[task.ID]; task.Traceparent != want {
			t.Errorf("the agent is told the parent %q of %s, want %q", task.Traceparent, task.ID, want)
		}
	}
	bad := acceptance(f.wish(), "bad")
	bad.Tasks[0] = json.RawMessage(`{"id":"bad","resources":{"cpus":1},"command":{"shell":"x"},"traceparent":"me"}`)
	f.say(bad)
	if s := only[*wire.Update](f.listener).Status; s.State != offers.Rejected || s.Message != `task bad: traceparent "me" is not 00-TRACE-SPAN-FLAGS with 32, 16 and 2 hexadecimal digits in lower case` {
		t.Errorf("told %s %s", s.State, s.Message)
	}

	l.succeed()
	f, h = l.author(f.id), h.back(listed(f.ref("own"), offers.Running), listed(f.ref("part"), offers.Running), listed(f.ref("silent"), offers.Running))
	l.now = l.now.Add(5 * time.Second)
	for id, s := range map[offers.TaskID]offers.State{"own": offers.Finished, "part": offers.Failed, "silent": offers.Finished} {
		report := status(f.ref(id), s, "1.9")
		report.Statuses[0].Time = dawn.Add(4 * time.Second)
		if id == "own" {
			report.Statuses[0].Time = dawn.Add(time.Hour) // by a clock that goes wrong
		}
		if s == offers.Failed {
			report.Statuses[0].Signal = "SIGKILL"
		}
		h.say(report)
		h.say(report)
	}
	slices.SortFunc(l.spans, func(a, b offers.Span) int { return a.Start.Compare(b.Start) })
	l.wantSpans("the tasks ended", dawn, "end part 4-8 below 7 failed: ended by SIGKILL", "end own 8-8 below 1")
	if roots != 1 {
		t.Errorf("%d traces began", roots)
	}
}

// TestLostTasksAreTraced: what ends with its agent ends for its trace, too.
func TestLostTasksAreTraced(t *testing.T) {
	l := newScene(t)
	l.config.Root = func() offers.Traceparent { return traceparent(1) }
	l.succeed()
	dawn := l.now
	h, f := l.host("a", ""), l.author("")
	f.launch("t")
	l.spans = nil
	l.At(l.now)
	l.Commit(state.Command{SetAgentState: &state.SetAgentState{ID: h.self.ID, State: offers.AgentGone, Time: l.now}}, nil)
	l.commit()
	if len(l.spans) != 1 || l.spans[0].Name != "end" || l.spans[0].State != offers.Gone || l.spans[0].Failed == "" {
		t.Errorf("told is %+v", l.spans)
	}
	l.spans = nil
	l.wantSpans("it ended once", dawn)
}

// BenchmarkWay takes one task after the other from its demand to its end. Tracing
// it allocates 9 times more (495 instead of 486).
func BenchmarkWay(b *testing.B) {
	for name, root := range map[string]func() offers.Traceparent{"untraced": nil, "traced": func() offers.Traceparent { return traceparent(1) }} {
		b.Run(name, func(b *testing.B) {
			l := newScene(b)
			l.config.Root = root
			l.succeed()
			h, f := l.host("a", ""), l.author("")
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				id := offers.TaskID(fmt.Sprint("t", n))
				f.launch(id)
				h.report(f.ref(id), offers.Finished, "1.1")
				f.acknowledge(id, "1.1")
				h.got, f.got, l.spans, l.told = nil, nil, nil, nil
			}
		})
	}
}
