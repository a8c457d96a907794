package load_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/load"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// patience bounds the waits; it passes only when something is broken.
const patience = 30 * time.Second

var unit = offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100, offers.Mem: 1 << 20}}

// masters answer each framework from a cluster of its own and hear all that
// they are told.
type masters struct {
	*frameworktest.Master
	mu       sync.Mutex
	clusters []*frameworktest.Cluster
}

func newMasters(t *testing.T, run func(offers.Task) offers.Status, hear func(wire.Message)) *masters {
	t.Helper()
	m := &masters{Master: frameworktest.NewMaster(t)}
	m.Serve(func(link wire.Link) {
		c := &frameworktest.Cluster{Run: run, Units: 7}
		m.mu.Lock()
		m.clusters = append(m.clusters, c)
		c.Break = func(message wire.Message, answered bool) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			if hear != nil && !answered {
				hear(message)
			}
			return false
		}
		m.mu.Unlock()
		c.Serve(link)
	})
	return m
}

// do opens, runs and closes a load.
func (m *masters) do(t *testing.T, ctx context.Context, p load.Plan) (*load.Trace, error) {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := load.Open(ctx, load.Config{Masters: []string{m.Address()}, Door: d, Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := l.Run(ctx)
	if closing := l.Close(t.Context()); closing != nil {
		t.Error(closing)
	}
	return trace, err
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestEveryTaskRunsOnce: whatever the sizes of jobs and offers, each task is
// launched once, seen at each of its moments, and acknowledged.
func TestEveryTaskRunsOnce(t *testing.T) {
	batch, err := load.Batch(3, 100, unit)
	if err != nil {
		t.Fatal(err)
	}
	single, err := load.Single(2, 300, unit, 1)
	if err != nil {
		t.Fatal(err)
	}
	few := load.Plan{{Jobs: []load.Job{{Tasks: 50, Unit: unit}}, PerOffer: 3}}
	for name, p := range map[string]load.Plan{"batch": batch, "single": single, "few an offer": few} {
		t.Run(name, func(t *testing.T) {
			most := 0
			m := newMasters(t, nil, func(m wire.Message) {
				if a, ok := m.(*wire.Accept); ok {
					most = max(most, len(a.Tasks))
				}
			})
			trace, err := m.do(t, within(t, patience), p)
			if err != nil {
				t.Fatal(err)
			}
			if len(trace.Tasks) != p.Tasks() {
				t.Errorf("%d tasks were seen; want %d", len(trace.Tasks), p.Tasks())
			}
			for _, at := range trace.Tasks {
				if at.Accept <= 0 || at.Accepted < at.Accept || at.Running < at.Accept || at.Finished < at.Running {
					t.Fatalf("%+v is in no order", at)
				}
			}
			for _, at := range trace.Demands {
				if at.Stated <= 0 || at.Offered < at.Stated {
					t.Fatalf("%+v is in no order", at)
				}
			}
			if p[0].PerOffer > 0 && most != p[0].PerOffer {
				t.Errorf("an accept launched %d tasks; want %d at most", most, p[0].PerOffer)
			}
			launched := 0
			for _, c := range m.clusters {
				for id, runs := range c.Runs() {
					if launched++; runs != 1 {
						t.Errorf("%s was launched %d times", id, runs)
					}
				}
				if n := c.Unacknowledged(); n > 0 {
					t.Errorf("updates of %d tasks are not acknowledged", n)
				}
			}
			if launched != p.Tasks() {
				t.Errorf("%d tasks were launched; want %d", launched, p.Tasks())
			}
		})
	}
}

// TestFewDemandsStand: a framework with many jobs has its masters keep 1,000
// demands at most.
func TestFewDemandsStand(t *testing.T) {
	stated, launched, most := 0, 0, 0
	m := newMasters(t, nil, func(m wire.Message) {
		switch m := m.(type) {
		case *wire.DemandMessage:
			stated += len(m.Demands)
		case *wire.Accept:
			launched += len(m.Tasks)
		}
		most = max(most, stated-launched)
	})
	p, err := load.Single(1, 1500, unit, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.do(t, within(t, patience), p); err != nil {
		t.Fatal(err)
	}
	if stated != 1500 || most != 1000 {
		t.Errorf("%d demands were stated and %d stood at a time; want 1500 and 1000", stated, most)
	}
}

// TestLoadSurvives: tasks that are to stay are done once they run, and whenever
// the leader is lost each framework has one more run by the next.
func TestLoadSurvives(t *testing.T) {
	m := frameworktest.NewMaster(t)
	c := &frameworktest.Cluster{Run: func(offers.Task) offers.Status { return offers.Status{State: offers.Running} }, Units: 7}
	links := make(chan wire.Link, 10)
	m.Serve(func(link wire.Link) {
		links <- link
		c.Serve(link)
	})
	p, err := load.Batch(1, 50, unit)
	if err != nil {
		t.Fatal(err)
	}
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, patience)
	l, err := load.Open(ctx, load.Config{Masters: []string{m.Address()}, Door: d, Plan: p, Stay: true})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range trace.Tasks {
		if at.Running == 0 || at.Finished > 0 {
			t.Fatalf("%+v has not stayed", at)
		}
	}
	for range 2 {
		broken := time.Now()
		(<-links).Close("the master dies")
		r, err := l.Survive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Found) != 1 || r.Found[0].Before(broken) || r.Served[0].Before(r.Found[0]) {
			t.Errorf("broken at %v, recovered %+v", broken, r)
		}
	}
	if n := len(c.Runs()); n != 52 {
		t.Errorf("%d tasks were launched; want 52", n)
	}
	if err := l.Leave(); err != nil {
		t.Error(err)
	}
}

func TestOffersAreDeclined(t *testing.T) {
	declined, accepted := 0, 0
	m := newMasters(t, nil, func(m wire.Message) {
		switch m := m.(type) {
		case *wire.Decline:
			declined += len(m.OfferIDs)
		case *wire.Accept:
			accepted++
		}
	})
	p, err := load.Decline(2, 21, 20, unit)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := m.do(t, within(t, patience), p)
	if err != nil || len(trace.Declined) != 21 || len(trace.Tasks) != 0 {
		t.Fatalf("%d offers declined and %d tasks, %v; want 21 and none", len(trace.Declined), len(trace.Tasks), err)
	}
	if declined != 21 || accepted != 0 {
		t.Errorf("the masters heard %d declined and %d accepts; want 21 and none", declined, accepted)
	}
}

// TestDroppedLaunchesAreMadeAgain: what never came to its agent is launched once
// more, under another id, and is no task of the trace.
func TestDroppedLaunchesAreMadeAgain(t *testing.T) {
	p, err := load.Batch(2, 100, unit)
	if err != nil {
		t.Fatal(err)
	}
	var drops atomic.Int32
	m := newMasters(t, func(offers.Task) offers.Status {
		if drops.Add(1) <= 7 {
			return offers.Status{State: offers.Dropped, Reason: offers.ReasonAgentLost}
		}
		return offers.Status{State: offers.Finished}
	}, nil)
	trace, err := m.do(t, within(t, patience), p)
	if err != nil {
		t.Fatal(err)
	}
	if s := trace.Summary(); s.Dropped != 7 || len(trace.Tasks) != 100 {
		t.Errorf("%d launches were dropped and %d tasks are in the trace; want 7 and 100", s.Dropped, len(trace.Tasks))
	}
	for _, at := range trace.Tasks {
		if at.Accepted == 0 || at.Finished == 0 {
			t.Fatalf("%+v has not finished", at)
		}
	}
}

func TestLoadFails(t *testing.T) {
	batch, err := load.Batch(2, 10, unit)
	if err != nil {
		t.Fatal(err)
	}
	failed := func(offers.Task) offers.Status {
		return offers.Status{State: offers.Failed, Reason: "health", Message: "it is ill"}
	}
	for name, c := range map[string]struct {
		run  func(offers.Task) offers.Status
		plan load.Plan
		want string
	}{
		"a task fails": {failed, batch, "is failed (health) and should have finished: it is ill"},
		"a bad demand": {nil, load.Plan{{Jobs: []load.Job{{Tasks: 1}}}}, "demand"},
	} {
		_, err := newMasters(t, c.run, nil).do(t, within(t, patience), c.plan)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", name, err, c.want)
		}
	}
}

// TestLoadEndsWithItsContext: tasks that never end are ended, and the error
// says how far the load came.
func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late, started := errors.New("it is late"), 0
	m := newMasters(t, func(offers.Task) offers.Status { return offers.Status{State: offers.Running} }, func(m wire.Message) {
		if a, ok := m.(*wire.Accept); ok {
			if started += len(a.Tasks); started == 10 {
				cancel(late)
			}
		}
	})
	p, err := load.Batch(2, 10, unit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.do(t, ctx, p); !errors.Is(err, late) || !strings.Contains(err.Error(), "0 of 10 tasks have finished") {
		t.Errorf("%v; want 0 of 10 and the cause", err)
	}
}

// TestPacedJobs: jobs are stated one after the other at their time, whatever
// became of those before.
func TestPacedJobs(t *testing.T) {
	p := load.Plan{{Jobs: []load.Job{{Tasks: 30, Unit: unit}}}, {Jobs: []load.Job{{Tasks: 10, Unit: unit}, {Tasks: 20, Unit: unit}}}}.Paced(600)
	trace, err := newMasters(t, nil, nil).do(t, within(t, patience), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Tasks) != 60 || len(trace.Demands) < 20 {
		t.Errorf("%d tasks in %d demands; want 60 in many", len(trace.Tasks), len(trace.Demands))
	}
	for i, d := range trace.Demands[:len(p[0].Jobs)] {
		if due := p[0].Begin + time.Duration(i)*p[0].Every; d.Stated < due {
			t.Errorf("demand %d was stated at %v, before %v", i, d.Stated, due)
		}
	}
}

func TestPace(t *testing.T) {
	batch, err := load.Batch(4, 10_000, unit)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.Paced(2000)
	if p.Tasks() != 10_000 || p[1].Every != 10*time.Millisecond || p[1].Jobs[0].Tasks != 5 || p[3].Begin != 7500*time.Microsecond {
		t.Errorf("%d tasks, %d every %v from %v; want 10000, 5 every 10ms from 7.5ms", p.Tasks(), p[1].Jobs[0].Tasks, p[1].Every, p[3].Begin)
	}
	if slow := batch.Paced(8); slow[0].Every != 500*time.Millisecond || slow[0].Jobs[0].Tasks != 1 {
		t.Errorf("%d every %v; want 1 every 500ms", slow[0].Jobs[0].Tasks, slow[0].Every)
	}
}

func TestPlans(t *testing.T) {
	p, err := load.Batch(3, 10, unit)
	if err != nil || len(p) != 3 || p.Tasks() != 10 || p[0].Jobs[0].Tasks != 3 || p[2].Jobs[0].Tasks != 4 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = load.Single(4, 100, unit, 7)
	if err != nil || p.Tasks() != 100 || len(p[0].Jobs) != 25 {
		t.Errorf("%d tasks, %v", p.Tasks(), err)
	}
	sizes := map[int64]bool{}
	for _, w := range p {
		for _, j := range w.Jobs {
			sizes[j.Unit.Amounts[offers.CPUs]] = true
		}
	}
	if len(sizes) < 5 || sizes[99] || sizes[200] {
		t.Errorf("the sizes %v; want several from 100 to 190", sizes)
	}
	same, _ := load.Single(4, 100, unit, 7)
	other, _ := load.Single(4, 100, unit, 8)
	if !reflect.DeepEqual(p, same) || reflect.DeepEqual(p, other) {
		t.Error("the seed does not decide alone what is drawn")
	}
	for name, plan := range map[string]func() (load.Plan, error){
		"3 frameworks can't share 2": func() (load.Plan, error) { return load.Batch(3, 2, unit) },
		"0 frameworks":               func() (load.Plan, error) { return load.Single(0, 2, unit, 1) },
		"each of 4 agents once":      func() (load.Plan, error) { return load.Decline(2, 9, 4, unit) },
	} {
		if _, err := plan(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want %q in it", err, name)
		}
	}
}

// TestMultiFramework holds the mix to what Mesos' benchmark has.
func TestMultiFramework(t *testing.T) {
	p := load.MultiFramework(1)
	seen := map[string]int{}
	for _, w := range p {
		a := w.Jobs[0].Unit.Amounts
		seen[fmt.Sprintf("%d tasks of %dm, %d MB, %d an offer", w.Jobs[0].Tasks, a[offers.CPUs], a[offers.Mem]/1e6, w.PerOffer)]++
	}
	want := map[string]int{
		"4000 tasks of 70m, 400 MB, 100 an offer": 4, "5 tasks of 100m, 4000 MB, 1 an offer": 500, "20 tasks of 1000m, 1000 MB, 5 an offer": 50,
	}
	if !reflect.DeepEqual(seen, want) || p.Tasks() != 19_500 {
		t.Errorf("%v, %d tasks; want %v and 19500", seen, p.Tasks(), want)
	}
	if !reflect.DeepEqual(p, load.MultiFramework(1)) || reflect.DeepEqual(p, load.MultiFramework(2)) {
		t.Error("the seed does not decide alone the order")
	}
}
