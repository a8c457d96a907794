package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// BatchOptions say how [RunBatch] runs its tasks. The zero value is useful.
type BatchOptions struct {
	// Demand carries the constraints, placement, device policy and so on of
	// every demand; its ID is their prefix ("batch" when empty). Resources
	// and count are set by the batch.
	Demand offers.Demand
	// Retries is how often a task that failed, or whose agent is gone, runs
	// again. Tasks that never reached an agent are always launched again.
	Retries int
	// OnUpdate sees every update before it is acknowledged, one at a time.
	OnUpdate func(BatchUpdate)
	// OnWaits hears once why tasks wait for an agent that there is not.
	OnWaits func(Waits)
	// Grace is from SIGTERM to SIGKILL when ctx ends; nil means the tasks' own.
	Grace *time.Duration
	// KillWait bounds the wait for killed tasks after ctx has ended; 0 means 30 s.
	KillWait time.Duration
}

// BatchUpdate is one update of one task of a batch.
type BatchUpdate struct {
	Index   int // of the task in the batch
	Attempt int // from 1
	Agent   wire.OfferAgent
	Status  offers.Status
}

// BatchResult is how one task of a batch ended.
type BatchResult struct {
	Task     offers.TaskID   // the id of the last attempt
	Attempts int             // launches that were tried; 0: it was never launched
	Agent    wire.OfferAgent // of the last attempt
	Status   offers.Status   // the last; without a state when there was none
}

// Finished reports whether the task ended with exit code 0.
func (r BatchResult) Finished() bool { return r.Status.State == offers.Finished }

// Repeat returns count copies of t with the ids t.ID-0, t.ID-1, ...
func Repeat(t offers.Task, count int) []offers.Task {
	out := make([]offers.Task, count)
	for i := range out {
		out[i] = t
		out[i].ID = offers.TaskID(fmt.Sprintf("%s-%d", t.ID, i))
	}
	return out
}

// maxDrops ends the launching of a task that no agent ever takes.
const maxDrops = 100

// RunBatch runs tasks to their end and returns how each ended, in the order
// given. It is the only reader of the client's events meanwhile. Tasks of
// equal resources share one counted demand. It survives failovers: no task is
// lost, and none runs twice, since a task is launched again, with ".2", ".3"
// and so on after its id, only when the former attempt is certain not to run
// any more: it was dropped, or (with Retries) failed or gone.
//
// The error is nil when every task has ended, however it ended. When ctx ends,
// RunBatch kills what runs, waits for it in bounded time, and returns the
// cause; when the client ends it returns that error; results are given always.
func RunBatch(ctx context.Context, c *Client, tasks []offers.Task, o BatchOptions) ([]BatchResult, error) {
	b := &batch{client: c, options: o, items: make([]item, len(tasks)), byTask: map[offers.TaskID]*item{}, byDemand: map[offers.DemandID]*group{}}
	if o.KillWait == 0 {
		b.options.KillWait = 30 * time.Second
	}
	if b.options.Demand.ID == "" {
		b.options.Demand.ID = "batch"
	}
	err := b.plan(tasks)
	if err == nil {
		err = b.follow(ctx)
	}
	if err != nil {
		err = fmt.Errorf("batch: %w", err)
	}
	return b.results(), err
}

// batch is one run. Everything is owned by the goroutine of RunBatch.
type batch struct {
	client   *Client
	options  BatchOptions
	items    []item
	groups   []*group
	byTask   map[offers.TaskID]*item // by the id of the present attempt
	byDemand map[offers.DemandID]*group
	open     int // items that have not ended
	demands  int // stated ever
	stopping bool
}

// item is one task of the batch.
type item struct {
	index    int
	task     offers.Task // with the id it was given
	group    *group
	id       offers.TaskID // of the present attempt
	attempts int
	drops    int
	retries  int
	asked    bool // launched, and not known to be durable
	launched bool // and not ended
	agent    wire.OfferAgent
	status   offers.Status
	ended    bool
}

// group is the tasks of equal resources.
type group struct {
	unit    offers.Resources
	waiting []*item
	asked   int // launched, and not known to be durable
	demands []offers.DemandID
	dirty   bool // its demands may not match what it waits for
}

func (b *batch) plan(tasks []offers.Task) error {
	byKey := map[string]*group{}
	for i := range tasks {
		t := tasks[i]
		if err := t.ID.Validate(); err != nil {
			return err
		}
		if len(t.ID) > 120 {
			return fmt.Errorf("task id %s is longer than 120 bytes, which leaves no room for the number of an attempt", t.ID)
		}
		if b.byTask[t.ID] != nil {
			return fmt.Errorf("task id %s is there twice", t.ID)
		}
		key, err := json.Marshal(t.Resources)
		if err != nil {
			return fmt.Errorf("task %s: resources: %w", t.ID, err)
		}
		g := byKey[string(key)]
		if g == nil {
			g = &group{unit: t.Resources, dirty: true}
			byKey[string(key)] = g
			b.groups = append(b.groups, g)
		}
		it := &b.items[i]
		*it = item{index: i, task: t, id: t.ID, group: g}
		b.byTask[t.ID] = it
		g.waiting = append(g.waiting, it)
	}
	b.open = len(tasks)
	return nil
}

// follow handles events until every task has ended.
func (b *batch) follow(ctx context.Context) error {
	wait := ctx
	for events := 0; b.open > 0; events++ {
		if events%256 == 0 || b.client.idle() {
			if err := b.settle(); err != nil {
				return err
			}
		}
		e, err := b.client.Next(wait)
		switch {
		case err == nil:
		case ctx.Err() != nil && !b.stopping:
			b.stop()
			end, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), b.options.KillWait, context.Cause(ctx))
			defer cancel()
			wait = end
			continue
		default:
			return err
		}
		if err := b.event(e); err != nil {
			return err
		}
	}
	if b.stopping {
		return context.Cause(ctx)
	}
	return nil
}

func (b *batch) event(e Event) error {
	switch e := e.(type) {
	case Offered:
		for i := range e.Offers {
			if err := b.offered(&e.Offers[i]); err != nil {
				return err
			}
		}
	case Accepted:
		for _, id := range e.Tasks {
			if it := b.byTask[id]; it != nil {
				it.durable()
			}
		}
	case Updated:
		b.updated(e)
	case Waits:
		if b.options.OnWaits != nil && b.byDemand[e.Demand] != nil {
			b.options.OnWaits(e)
		}
	case Refused:
		if e.Request == "demand" && (e.Demand == "" || b.byDemand[e.Demand] != nil) {
			return e.Err
		}
	}
	return nil
}

// stop begins the end: nothing is launched any more, what runs is killed.
func (b *batch) stop() {
	b.stopping = true
	for _, g := range b.groups {
		b.client.Withdraw(g.demands...)
		g.waiting, g.demands = nil, nil
	}
	for i := range b.items {
		switch it := &b.items[i]; {
		case it.launched:
			b.client.Kill(it.id, b.options.Grace)
		case !it.ended:
			it.ended = true
			b.open--
		}
	}
}

func (b *batch) results() []BatchResult {
	out := make([]BatchResult, len(b.items))
	for i := range b.items {
		it := &b.items[i]
		out[i] = BatchResult{Task: it.id, Attempts: it.attempts, Agent: it.agent, Status: it.status}
	}
	return out
}

// unwanted is how long an offer that no task wants is hidden.
const unwanted = time.Second

// offered launches as many waiting tasks as the offer has room for.
func (b *batch) offered(o *wire.Offer) error {
	g := b.byDemand[o.DemandID]
	if g == nil || len(g.waiting) == 0 || b.stopping {
		b.client.Decline(unwanted, o.ID)
		return nil
	}
	n := min(max(1, Units(o.Resources, g.unit)), len(g.waiting))
	for ; ; n /= 2 {
		tasks := make([]offers.Task, n)
		for i, it := range g.waiting[:n] {
			tasks[i] = it.task
			tasks[i].ID = it.id
		}
		err := b.client.Accept([]offers.OfferID{o.ID}, tasks...)
		switch {
		case err == nil:
			b.launch(g, n, o)
			return nil
		case errors.Is(err, &offers.Error{Code: offers.OfferGone}):
			return nil
		case n == 1 || !errors.Is(err, &offers.Error{Code: offers.TooLarge}):
			return err
		}
	}
}

func (b *batch) launch(g *group, n int, o *wire.Offer) {
	for _, it := range g.waiting[:n] {
		it.asked, it.launched, it.agent = true, true, o.Agent
		it.attempts++
	}
	g.waiting = g.waiting[n:]
	g.asked += n
	g.dirty = true
}

func (it *item) durable() {
	if it.asked {
		it.asked = false
		it.group.asked--
		it.group.dirty = true
	}
}

func (b *batch) updated(u Updated) {
	it := b.byTask[u.Status.Task]
	if it == nil || !it.launched {
		return
	}
	if b.options.OnUpdate != nil {
		b.options.OnUpdate(BatchUpdate{Index: it.index, Attempt: it.attempts, Agent: it.agent, Status: u.Status})
	}
	b.client.Acknowledge(u)
	it.status = u.Status
	it.durable()
	if !u.Status.State.Terminal() {
		return
	}
	it.launched = false
	if b.again(it) {
		b.relaunch(it)
		return
	}
	it.ended = true
	b.open--
}

// again decides whether an ended attempt is followed by another.
func (b *batch) again(it *item) bool {
	if b.stopping {
		return false
	}
	switch it.status.State {
	case offers.Dropped:
		it.drops++
		return it.drops < maxDrops
	case offers.Failed, offers.Gone:
		it.retries++
		return it.retries <= b.options.Retries
	}
	return false
}

func (b *batch) relaunch(it *item) {
	for n := it.attempts + 1; ; n++ {
		id := offers.TaskID(fmt.Sprintf("%s.%d", it.task.ID, n))
		if b.byTask[id] == nil {
			delete(b.byTask, it.id)
			it.id = id
			b.byTask[id] = it
			break
		}
	}
	it.group.waiting = append(it.group.waiting, it)
	it.group.dirty = true
}

// settle makes the demands of each group ask for the tasks it waits for, and
// for those whose launch may yet turn out not to be durable.
func (b *batch) settle() error {
	for _, g := range b.groups {
		if !g.dirty || b.stopping {
			continue
		}
		g.dirty = false
		have, standing := 0, g.demands[:0]
		for _, id := range g.demands {
			if left := b.client.Left(id); left > 0 {
				have += left
				standing = append(standing, id)
			} else {
				delete(b.byDemand, id)
			}
		}
		g.demands = standing
		want := len(g.waiting) + g.asked
		if want == 0 {
			b.withdraw(g)
		}
		if want > have {
			if err := b.demand(g, want-have); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batch) withdraw(g *group) {
	b.client.Withdraw(g.demands...)
	for _, id := range g.demands {
		delete(b.byDemand, id)
	}
	g.demands = nil
}

func (b *batch) demand(g *group, count int) error {
	b.demands++
	d := b.options.Demand
	d.ID = offers.DemandID(fmt.Sprintf("%s.%d", d.ID, b.demands))
	count = min(count, offers.MaxCount)
	d.Resources, d.Count = g.unit, &count
	g.demands = append(g.demands, d.ID)
	b.byDemand[d.ID] = g
	return b.client.Demand(d)
}
