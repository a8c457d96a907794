package scheduler_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var update = flag.Bool("update", false, "write the stories as they go now")

// TestStories replays the stories of testdata. A line that is not indented is
// something that happens; what the scheduler says to it stands below it.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".story"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			told := tell(t, string(text))
			if *update {
				if err := os.WriteFile(path, []byte(told), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if told != string(text) {
				t.Errorf("the story goes\n%s\nand is written as\n%s", told, text)
			}
		})
	}
}

// teller plays shell, masters and people on virtual time.
type teller struct {
	tb      testing.TB
	sched   *scheduler.Scheduler
	now     time.Time
	records map[string]json.RawMessage
	pending []string // keys that are written and not known to be
	offers  int
	traces  int
	root    func() offers.Traceparent
	out     strings.Builder
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newTeller(tb testing.TB) *teller {
	tl := &teller{tb: tb, now: epoch, records: map[string]json.RawMessage{}}
	tl.begin()
	return tl
}

func (tl *teller) begin() {
	sched, err := scheduler.New(maps.Clone(tl.records), 0, tl.root)
	if err != nil {
		tl.tb.Fatal(err)
	}
	tl.sched = sched
}

func tell(tb testing.TB, text string) string {
	tl := newTeller(tb)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "  "):
			continue // what was said last time
		case line == "" || line[0] == '#':
			tl.out.WriteString(line + "\n")
			continue
		}
		tl.out.WriteString(line + "\n")
		var file []string
		for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| "); i++ {
			file = append(file, lines[i+1][2:])
			tl.out.WriteString(lines[i+1] + "\n")
		}
		tl.do(strings.Fields(line), strings.Join(file, "\n"))
		tl.take()
		if err := tl.sched.Check(); err != nil {
			tb.Fatalf("after %q: %v", line, err)
		}
	}
	return tl.out.String()
}

func (tl *teller) say(format string, args ...any) { fmt.Fprintf(&tl.out, "  "+format+"\n", args...) }

func (tl *teller) do(words []string, file string) {
	switch words[0] {
	case "submit":
		tl.submit(file)
	case "settled":
		tl.sched.Settled()
	case "trace": // from the next begin on
		tl.root = func() offers.Traceparent {
			tl.traces++
			return offers.Traceparent(fmt.Sprintf("00-%032x-%016x-01", tl.traces, tl.traces))
		}
	case "written":
		tl.sched.Written(tl.pending)
		tl.pending = nil
	case "offer": // DEMAND UNITS AGENT [PORTS]
		tl.offer(words[1], words[2], words[3], words[4:]...)
	case "together": // DEMAND UNITS AGENT UNITS AGENT..., in one message
		for i := 2; i+1 < len(words); i += 2 {
			tl.offer(words[1], words[i], words[i+1])
		}
	case "update": // TASK STATE K=V...
		tl.sched.Updated(tl.now, status(words[1:], tl.now))
	case "lost": // TASK: an accept that could not be sent
		tl.sched.NotLaunched(tl.now, []offers.Task{{ID: offers.TaskID(words[1])}}, "offer is gone")
	case "far": // DURATION: nobody looks for so long
		d, _ := time.ParseDuration(words[1])
		tl.now = tl.now.Add(d)
	case "refused": // DEMAND
		tl.sched.DemandRefused(tl.now, offers.DemandID(words[1]), "no such placement")
	case "hopeless": // JOB DEMAND
		tl.sched.DemandWaits(tl.now, offers.DemandID(words[2]), "no agent that is known has npu")
		d, err := tl.sched.Detail(words[1], 0, false)
		if err != nil {
			tl.tb.Fatal(err)
		}
		tl.say("%s", d.Events[len(d.Events)-1].Text)
	case "stop":
		tl.answer(tl.sched.Stop(tl.now, words[1]))
	case "scale":
		n, _ := strconv.Atoi(words[2])
		tl.answer(tl.sched.Scale(tl.now, words[1], n))
	case "rollback":
		n, _ := strconv.Atoi(words[2])
		tl.answer(tl.sched.Rollback(tl.now, words[1], n))
	case "purge":
		if err := tl.sched.Purge(words[1]); err != nil {
			tl.say("error: %v", err)
		}
	case "wait": // until the next thing is due, or DURATION
		tl.wait(words[1:])
	case "restart":
		tl.pending = nil
		tl.begin()
	case "look":
		tl.look(words[1])
	default:
		tl.tb.Fatalf("unknown line %q", words)
	}
}

func (tl *teller) submit(file string) {
	j, err := spec.Parse([]byte(file), ".")
	if err != nil {
		tl.tb.Fatal(err)
	}
	tl.answer(tl.sched.Submit(tl.now, *j))
}

func (tl *teller) answer(v *scheduler.View, err error) {
	if err != nil {
		tl.say("error: %v", err)
		return
	}
	tl.say("%s run %d version %d", v.State, v.Run, v.Version)
}

func (tl *teller) offer(demand, units, agent string, ports ...string) {
	n, err := strconv.Atoi(units)
	if err != nil {
		tl.tb.Fatal(err)
	}
	var held []offers.PortRange
	for _, text := range ports {
		r, err := offers.ParsePorts(text)
		if err != nil {
			tl.tb.Fatal(err)
		}
		held = append(held, r)
	}
	tl.offers++
	unit := offers.Amounts{offers.CPUs: 100}
	tl.sched.Offered(tl.now, &wire.Offer{
		ID: offers.OfferID(fmt.Sprintf("o%d", tl.offers)), DemandID: offers.DemandID(demand),
		Agent: wire.OfferAgent{ID: "id-" + offers.AgentID(agent), Name: agent, Host: "host-" + agent}, Resources: wire.Offered{Amounts: unit.Times(int64(n)), Ports: offers.MakePorts(held...)},
	})
}

func status(words []string, now time.Time) offers.Status {
	st := offers.Status{Task: offers.TaskID(words[0]), State: offers.State(words[1]), Time: now}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "exit":
			n, _ := strconv.Atoi(v)
			st.ExitCode = &n
		case "signal":
			st.Signal = v
		case "reason":
			st.Reason = v
		case "healthy":
			well := v == "true"
			st.Healthy = &well
		}
	}
	return st
}

func (tl *teller) wait(words []string) {
	if len(words) > 0 {
		d, err := time.ParseDuration(words[0])
		if err != nil {
			tl.tb.Fatal(err)
		}
		tl.now = tl.now.Add(d)
	} else if at := tl.sched.Wake(); !at.IsZero() {
		tl.now = at
	}
	tl.say("at %s", tl.now.Sub(epoch))
	tl.sched.Tick(tl.now)
}

// take writes down what the scheduler says.
func (tl *teller) take() {
	out := tl.sched.Take(tl.now)
	for _, d := range out.Demands {
		tl.say("%s", strings.TrimSpace(fmt.Sprintf("demand %s %d %s", d.ID, *d.Count, terms(&d))))
	}
	for _, a := range out.Accepts {
		for i := range a.Tasks {
			if err := a.Tasks[i].Validate(); err != nil {
				tl.tb.Error(err)
			}
			tl.say("accept %s %s: %s", a.Offer, a.Tasks[i].ID, strings.Join(a.Tasks[i].Command.Args(), " "))
		}
	}
	for _, s := range out.Spans {
		trace, _ := s.Self.IDs()
		tl.say("span %s %s of trace %d, %v to %v: %s %s", s.Name, s.Task.Task, trace[15], s.Start.Sub(epoch), s.End.Sub(epoch), s.State, s.Failed)
	}
	for _, id := range out.Declines {
		tl.say("decline %s", id)
	}
	for _, id := range out.Kills {
		tl.say("kill %s", id)
	}
	for _, id := range out.Ask {
		tl.say("ask %s", id)
	}
	for _, key := range slices.Sorted(maps.Keys(out.Writes)) {
		if out.Writes[key] == nil {
			tl.say("delete %s", key)
			delete(tl.records, key)
			continue
		}
		tl.say("write %s", key)
		tl.records[key] = out.Writes[key]
		tl.pending = append(tl.pending, key)
	}
}

// terms is what a demand says of when it is wanted.
func terms(d *offers.Demand) string {
	var out []string
	for _, t := range []struct {
		name string
		time offers.Duration
	}{{"gang", d.Gang}, {"deadline", d.Deadline}, {"runtime", d.Runtime}} {
		if t.time != 0 {
			out = append(out, fmt.Sprintf("%s=%s", t.name, t.time))
		}
	}
	if d.Price != 0 {
		out = append(out, fmt.Sprintf("price=%g", d.Price))
	}
	return strings.Join(out, " ")
}

func (tl *teller) look(name string) {
	d, err := tl.sched.Detail(name, 0, false)
	if err != nil {
		tl.say("error: %v", err)
		return
	}
	if !d.Next.IsZero() {
		tl.say("next at %s", d.Next.Sub(epoch))
	}
	tl.say("%s, run %d, version %d, %d asked for", d.State, d.Run, d.Version, d.Demanded)
	if o := d.Rollout; o != nil {
		tl.say("rollout to %d %s %s", o.To, o.State, o.Why)
	}
	for _, in := range d.Instances {
		text := fmt.Sprintf("%s %d %s", in.Step, in.Index, in.State)
		if in.Attempt > 0 {
			text += fmt.Sprintf(" %s on %s %s", in.Task, in.Last.Host, in.Last.Reason)
		}
		tl.say("%s", strings.TrimSpace(text))
	}
}

// TestAcceptIsBounded holds that an accept stays below what a message may be,
// whatever makes the tasks large.
func TestAcceptIsBounded(t *testing.T) {
	labels := map[string]string{"text": strings.Repeat("x", 300<<10)}
	for name, w := range map[string]spec.Work{
		"labels":    {Command: spec.Command{Shell: "x"}, Labels: labels},
		"container": {Container: &offers.Container{Image: "x", Entrypoint: []string{"x", labels["text"]}}},
	} {
		tl := newTeller(t)
		tl.sched.Settled()
		w.Count, w.Resources.Amounts = 100, offers.Amounts{offers.CPUs: 100}
		tl.answer(tl.sched.Submit(tl.now, spec.Job{Name: "large", Work: w}))
		tl.take()
		tl.sched.Written(tl.pending)
		tl.take()
		tl.offer("large.1", "100", "a1")
		accepts := tl.sched.Take(tl.now).Accepts
		if len(accepts) != 1 {
			t.Fatalf("%s: %d accepts", name, len(accepts))
		}
		for _, a := range accepts {
			text, err := json.Marshal(a.Tasks)
			if err != nil || len(text) > wire.MaxMessage/2 || len(a.Tasks) == 0 {
				t.Errorf("%s: %v; an accept of %d tasks has %d bytes", name, err, len(a.Tasks), len(text))
			}
		}
	}
}
