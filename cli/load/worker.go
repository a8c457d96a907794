package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	// standing is how many demands of one framework stand at the same time.
	standing = 1000
	// refusal hides a declined agent for longer than any load runs.
	refusal = 24 * time.Hour
)

// worker is one framework, owned by the goroutine that runs it.
type worker struct {
	client      *framework.Client
	work        Work
	constraints []offers.Constraint
	stay        bool

	begin   time.Time
	goal    int // tasks that are to finish, or to run where they stay
	done    int // of those
	dropped int // launches, which were made up for by others

	// What happened, by the numbers of jobs (demands j0, j1, ...) and launches
	// (tasks t0, t1, ...).
	jobs     []Job
	left     []int // tasks of a job that are not launched
	demands  []DemandTimes
	tasks    []TaskTimes
	job      []int // of a launch
	declined []time.Duration
}

func newWorker(client *framework.Client, w Work, c Config) *worker {
	out := &worker{client: client, work: w, constraints: c.Constraints, stay: c.Stay}
	for _, j := range w.Jobs {
		out.add(j)
	}
	out.goal = Plan{w}.Tasks()
	out.tasks, out.job = make([]TaskTimes, 0, out.goal), make([]int, 0, out.goal)
	return out
}

func (w *worker) add(j Job) { w.jobs, w.left = append(w.jobs, j), append(w.left, j.Tasks) }

func (w *worker) run(ctx context.Context, begin time.Time) error {
	w.begin = begin
	if w.work.Every == 0 {
		if err := w.demand(standing); err != nil {
			return err
		}
	}
	for w.done < w.goal || len(w.declined) < w.work.Declines {
		if _, err := w.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step waits for the next event and does what it asks for.
func (w *worker) step(ctx context.Context) (framework.Event, error) {
	e, err := w.next(ctx)
	if err == nil {
		err = w.event(e)
	}
	return e, err
}

// survive waits until a leader is there again, and then for one more task.
func (w *worker) survive(ctx context.Context) (found, served time.Time, err error) {
	for found.IsZero() {
		e, err := w.step(ctx)
		if err != nil {
			return found, served, err
		}
		if _, back := e.(framework.Reconnected); back {
			found = time.Now()
		}
	}
	w.goal++
	w.add(Job{1, w.jobs[0].Unit})
	err = w.demand(1)
	for err == nil && w.done < w.goal {
		_, err = w.step(ctx)
	}
	return found, time.Now(), err
}

// errDue ends the wait for an event because a job is to be stated.
var errDue = errors.New("a job is due")

// next returns the next event, and states the jobs that are due meanwhile.
func (w *worker) next(ctx context.Context) (framework.Event, error) {
	for w.work.Every > 0 && len(w.demands) < len(w.jobs) {
		at := w.begin.Add(w.work.Begin + w.work.Every*time.Duration(len(w.demands)))
		if !time.Now().Before(at) {
			if err := w.demand(1); err != nil {
				return nil, err
			}
			continue
		}
		wait, done := context.WithDeadlineCause(ctx, at, errDue)
		e, err := w.client.Next(wait)
		done()
		if !errors.Is(err, errDue) {
			return e, err
		}
	}
	return w.client.Next(ctx)
}

// now is never 0, which stands for never.
func (w *worker) now() time.Duration { return max(1, time.Since(w.begin)) }

// demand states the next n demands, or as many as there are.
func (w *worker) demand(n int) error {
	var ds []offers.Demand
	first := len(w.demands)
	for i := first; i < min(first+n, len(w.jobs)); i++ {
		d := offers.Demand{ID: offers.DemandID(fmt.Sprintf("j%d", i)), Resources: w.jobs[i].Unit, Constraints: w.constraints}
		if count := w.jobs[i].Tasks; count > 0 {
			d.Count = &count
		}
		ds = append(ds, d)
	}
	if len(ds) == 0 {
		return nil
	}
	stated := w.now()
	for range ds {
		w.demands = append(w.demands, DemandTimes{Stated: stated})
	}
	return w.client.Demand(ds...)
}

func (w *worker) event(e framework.Event) error {
	switch e := e.(type) {
	case framework.Offered:
		return w.offered(e.Offers)
	case framework.Accepted:
		now := w.now()
		for _, id := range e.Tasks {
			t, err := w.task(id)
			if err != nil {
				return err
			}
			t.Accepted = now
		}
	case framework.Updated:
		return w.updated(e)
	case framework.Waits:
		return fmt.Errorf("no agent can ever meet a demand of the load: %s", e.Why)
	case framework.Refused:
		if errors.Is(e.Err, &offers.Error{Code: offers.OfferGone}) {
			return nil // its tasks are dropped
		}
		return fmt.Errorf("the masters refuse the load: %w", e.Err)
	}
	return nil
}

// task returns the times of one of our tasks.
func (w *worker) task(id offers.TaskID) (*TaskTimes, error) {
	n, err := number(string(id), "t", len(w.tasks))
	if err != nil {
		return nil, err
	}
	return &w.tasks[n], nil
}

// number of an id that we gave, one of so many of a letter.
func number(id, letter string, of int) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(id, letter))
	if err != nil || n < 0 || n >= of {
		return 0, fmt.Errorf("the masters name %q, which the load never did", id)
	}
	return n, nil
}

func (w *worker) offered(all []wire.Offer) error {
	now, met := w.now(), 0
	for i := range all {
		o := &all[i]
		job, err := number(string(o.DemandID), "j", len(w.demands))
		if err != nil {
			return err
		}
		if d := &w.demands[job]; d.Offered == 0 {
			d.Offered = now
		}
		if w.work.Declines > 0 {
			w.decline(o.ID)
			continue
		}
		done, err := w.accept(o, job)
		if err != nil {
			return err
		}
		if done {
			met++
		}
	}
	if w.work.Every > 0 {
		return nil
	}
	return w.demand(met)
}

func (w *worker) decline(id offers.OfferID) {
	if len(w.declined) < w.work.Declines {
		w.client.Decline(refusal, id)
		w.declined = append(w.declined, w.now())
	}
}

// accept launches what fits into an offer, and reports whether its job is
// launched as a whole now.
func (w *worker) accept(o *wire.Offer, job int) (last bool, err error) {
	unit := w.jobs[job].Unit
	n := min(framework.Units(o.Resources, unit), w.left[job])
	if w.work.PerOffer > 0 {
		n = min(n, w.work.PerOffer)
	}
	if n == 0 { // it crossed our last accept
		w.client.Decline(0, o.ID)
		return false, nil
	}
	tasks := make([]offers.Task, n)
	now := w.now()
	for i := range tasks {
		tasks[i] = offers.Task{ID: offers.TaskID(fmt.Sprintf("t%d", len(w.tasks)+i)), Name: "load", Resources: unit, Command: nothing}
	}
	err = w.client.Accept([]offers.OfferID{o.ID}, tasks...)
	if errors.Is(err, &offers.Error{Code: offers.OfferGone}) {
		return false, nil // another will come for what is left
	}
	if err != nil {
		return false, err
	}
	for range tasks {
		w.tasks, w.job = append(w.tasks, TaskTimes{Accept: now}), append(w.job, job)
	}
	w.left[job] -= n
	return w.left[job] == 0, nil
}

// nothing is what tasks run: simulated agents don't look at it.
var nothing = &offers.Command{Argv: []string{"true"}}

func (w *worker) updated(u framework.Updated) error {
	now := w.now()
	t, err := w.task(u.Status.Task)
	if err != nil {
		return err
	}
	switch s := u.Status; {
	case s.State == offers.Running:
		if t.Running == 0 {
			t.Running = now
			w.count(w.stay)
		}
	case s.State == offers.Finished && !w.stay:
		if t.Finished == 0 {
			t.Finished = now
			w.count(true)
		}
	case s.State == offers.Dropped:
		if err := w.again(s.Task); err != nil {
			return err
		}
	case s.State.Terminal():
		should := "have finished"
		if w.stay {
			should = "run on"
		}
		return fmt.Errorf("task %s is %s (%s) and should %s: %s", s.Task, s.State, s.Reason, should, s.Message)
	}
	w.client.Acknowledge(u)
	return nil
}

func (w *worker) count(done bool) {
	if done {
		w.done++
	}
}

// again makes up for a launch that never came to its agent: the offer was gone,
// or the agent. Where it was accepted its demand has fallen by it, so that it
// needs another one.
func (w *worker) again(id offers.TaskID) error {
	n, err := number(string(id), "t", len(w.tasks))
	if err != nil {
		return err
	}
	w.dropped++
	job, accepted := w.job[n], w.tasks[n].Accepted > 0
	w.tasks[n] = TaskTimes{}
	if !accepted {
		w.left[job]++
		return nil
	}
	w.add(Job{1, w.jobs[job].Unit})
	return w.demand(1)
}

// lasting returns the times of all launches but those that were dropped.
func (w *worker) lasting() []TaskTimes {
	return slices.DeleteFunc(w.tasks, func(t TaskTimes) bool { return t == TaskTimes{} })
}
