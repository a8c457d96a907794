package scheduler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// chance plays masters and agents at random around a scheduler that dies now
// and then with whatever it had not written.
type chance struct {
	*teller
	*rand.Rand
	wants map[offers.DemandID]int
	tasks map[offers.TaskID]offers.State // as the masters know them, until their end is acknowledged
	runs  map[offers.TaskID]int          // how often each was launched
	told  map[offers.TaskID]bool         // whose end was told and is not known to be written
	offer int

	unwritten map[string]json.RawMessage
}

const randomJobs = 5

// job is one of each kind.
func (c *chance) job(n int) spec.Job {
	unit := spec.Resources{Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 100}}}
	w := spec.Work{Command: spec.Command{Shell: "x"}, Count: 1 + c.IntN(4), Resources: unit}
	j := spec.Job{Name: fmt.Sprintf("j%d", n)}
	switch n {
	case 0:
		w.Retries, w.Parallelism = 2, 2
		j.Work = w
	case 1:
		j.Type, j.Work = spec.Service, w
		j.Env = map[string]string{"V": fmt.Sprint(c.IntN(3))}
		j.Update.MaxFailures, j.ReplaceAfter = 1, offers.Duration(20e9)
	case 2:
		second := w
		j.Steps = []spec.Step{{Name: "b", After: []string{"a"}, Work: w}, {Name: "a", Work: second}}
	case 3:
		w.Retries, w.Gang = 2, offers.Duration(30e9)
		j.Work = w
	default:
		j.Type, j.Work = spec.Cron, w
		j.Cron = &spec.Timer{Schedule: "@every 30s", Overlap: []string{"skip", "allow", "replace"}[c.IntN(3)], Missed: "one"}
	}
	return j
}

func (c *chance) step() {
	switch c.IntN(12) {
	case 0:
		_, _ = c.sched.Submit(c.now, c.job(c.IntN(randomJobs)))
	case 1:
		name := fmt.Sprintf("j%d", c.IntN(randomJobs))
		switch c.IntN(4) {
		case 0:
			_, _ = c.sched.Stop(c.now, name)
		case 1:
			_ = c.sched.Purge(name)
		case 2:
			_, _ = c.sched.Scale(c.now, name, 1+c.IntN(5))
		case 3:
			_, _ = c.sched.Rollback(c.now, name, 0)
		}
	case 2:
		if c.IntN(4) == 0 {
			c.die()
		}
	case 3:
		c.now = c.now.Add(time.Duration(c.IntN(15)) * time.Second)
		c.sched.Tick(c.now)
	case 4, 5, 6:
		if ids := slices.Sorted(maps.Keys(c.wants)); len(ids) > 0 {
			c.offerTo(ids[c.IntN(len(ids))])
		}
	default:
		if ids := slices.Sorted(maps.Keys(c.tasks)); len(ids) > 0 {
			c.move(ids[c.IntN(len(ids))])
		}
	}
	c.act()
}

// offerTo offers some units of a demand, and those of a gang all at once, but for
// the few times that the connection breaks in between.
func (c *chance) offerTo(id offers.DemandID) {
	if !strings.HasPrefix(string(id), "j3.") {
		c.sched.Offered(c.now, c.room(id, 1+c.IntN(c.wants[id])))
		return
	}
	for left := c.wants[id]; left > 0 && c.IntN(10) > 0; {
		n := 1 + c.IntN(left)
		c.sched.Offered(c.now, c.room(id, n))
		left -= n
	}
}

// standTogether holds that no gang is launched while a task of it lives that was
// launched before.
func (c *chance) standTogether(id offers.TaskID) {
	at := strings.Split(string(id), ".")
	for other, state := range c.tasks {
		if is := strings.Split(string(other), "."); at[0] == "j3" && !state.Terminal() && is[0] == at[0] && is[1] == at[1] && is[3] != at[3] {
			c.tb.Fatalf("%s is launched while %s is %s", id, other, state)
		}
	}
}

func (c *chance) room(id offers.DemandID, units int) *wire.Offer {
	c.offer++
	unit := offers.Amounts{offers.CPUs: 100}
	return &wire.Offer{
		ID: offers.OfferID(fmt.Sprintf("%s/%d", id, c.offer)), DemandID: id, Agent: wire.OfferAgent{ID: "a", Name: "a"},
		Resources: wire.Offered{Amounts: unit.Times(int64(units))},
	}
}

// move takes a task on. An end is told again and again until it is written.
func (c *chance) move(id offers.TaskID) {
	state := c.tasks[id]
	if !state.Terminal() {
		next := []offers.State{offers.Running, offers.Running, offers.Unreachable, offers.Finished, offers.Failed, offers.Gone}
		if state = next[c.IntN(len(next))]; state == c.tasks[id] {
			return
		}
	}
	c.tasks[id] = state
	if state.Terminal() {
		c.told[id] = true
	}
	c.sched.Updated(c.now, offers.Status{Task: id, State: state, Time: c.now, Started: c.now.Add(-time.Second)})
}

// act does what the scheduler says; about half of the time it is on disk before
// anything else happens.
func (c *chance) act() {
	out := c.sched.Take(c.now)
	if err := c.sched.Check(); err != nil {
		c.tb.Fatal(err)
	}
	for _, d := range out.Demands {
		delete(c.wants, d.ID)
		if *d.Count > 0 {
			c.wants[d.ID] = *d.Count
		}
	}
	for _, a := range out.Accepts {
		for _, t := range a.Tasks {
			r, _, _ := strings.Cut(string(a.Offer), "/")
			if id := offers.DemandID(r); c.wants[id] > 1 {
				c.wants[id]--
			} else {
				delete(c.wants, id)
			}
			if c.runs[t.ID]++; c.runs[t.ID] > 1 {
				c.tb.Fatalf("task %s is launched twice", t.ID)
			}
			c.standTogether(t.ID)
			c.tasks[t.ID] = offers.Staging
		}
	}
	for _, id := range out.Ask {
		if _, known := c.tasks[id]; !known {
			c.sched.Updated(c.now, offers.Status{Task: id, State: offers.Dropped, Reason: offers.ReasonUnknownTask, Time: c.now})
		}
	}
	for _, id := range out.Kills {
		if s, ok := c.tasks[id]; ok && !s.Terminal() {
			c.tasks[id] = offers.Killed
		}
	}
	maps.Copy(c.unwritten, out.Writes)
	if c.IntN(2) == 0 {
		c.flush()
	}
}

// flush makes what is to be written durable, and then acknowledges.
func (c *chance) flush() {
	var keys []string
	for _, w := range scheduler.InOrder(c.unwritten) {
		c.write(w)
		keys = append(keys, w.Key)
	}
	clear(c.unwritten)
	for id := range c.told {
		delete(c.tasks, id)
	}
	clear(c.told)
	c.sched.Written(keys)
}

func (c *chance) write(w scheduler.Write) {
	if c.records[w.Key] = w.Value; w.Value == nil {
		delete(c.records, w.Key)
	}
}

// die ends the scheduler with a beginning of what it wanted to write, and
// begins another, which the masters tell what they know.
func (c *chance) die() {
	writes := scheduler.InOrder(c.unwritten)
	for _, w := range writes[:c.IntN(len(writes)+1)] {
		c.write(w)
	}
	clear(c.unwritten)
	clear(c.told)
	clear(c.wants)
	c.begin()
	for _, id := range slices.Sorted(maps.Keys(c.tasks)) {
		c.sched.Updated(c.now, offers.Status{Task: id, State: c.tasks[id], Time: c.now})
		if c.tasks[id].Terminal() {
			c.told[id] = true
		}
	}
	c.sched.Settled()
}

// TestRandomLives holds the invariants over random lives, and that no task id
// is ever launched twice, whatever is lost.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &chance{
				teller: newTeller(t), Rand: rand.New(rand.NewPCG(seed, 7)), wants: map[offers.DemandID]int{}, tasks: map[offers.TaskID]offers.State{},
				runs: map[offers.TaskID]int{}, told: map[offers.TaskID]bool{}, unwritten: map[string]json.RawMessage{},
			}
			c.sched.Settled()
			for range 400 {
				c.step()
			}
			c.quiet()
		})
	}
}

// quiet stops every job and lets everything come to its end: nothing is left.
func (c *chance) quiet() {
	for n := range randomJobs {
		_, _ = c.sched.Stop(c.now, fmt.Sprintf("j%d", n))
	}
	for range 50 {
		c.act()
		c.flush()
		for _, id := range slices.Sorted(maps.Keys(c.tasks)) {
			if !c.tasks[id].Terminal() {
				c.tasks[id] = offers.Killed
			}
			c.told[id] = true
			c.sched.Updated(c.now, offers.Status{Task: id, State: c.tasks[id], Time: c.now})
		}
	}
	for _, v := range c.sched.Jobs() {
		if !v.State.Ended() {
			c.tb.Errorf("job %s is %s after it was stopped: %v", v.Name, v.State, v.Counts)
		}
		if err := c.sched.Purge(v.Name); err != nil {
			c.tb.Error(err)
		}
	}
	c.act()
	c.flush()
	for key := range c.records {
		if key != "floor" {
			c.tb.Errorf("%s is left", key)
		}
	}
}
