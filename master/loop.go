package master

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
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

// replicated is what the loop needs of the replica.
type replicated interface {
	Apply(term uint64, batch []state.Command) *replica.Future
	Restore(term uint64, s *state.State) error
	State() *state.State
	Term() uint64
	VerifyLeader() error
	Barrier() error
	LeadershipChanges() <-chan bool
}

var _ replicated = (*replica.Replica)(nil)

// Bounds of the loop's queues. A full inbox makes the sessions wait, and so
// their peers; an entry's worth of commands that wait makes the loop wait for
// the disk. A turn takes nothing more on after turnTime: what is left of a
// commit, such as of agents that came back all at once with their tasks, is for
// the next turns.
const (
	inboxSize = 4096
	turnSize  = 1024 // inputs handled before a turn is finished
	turnTime  = 20 * time.Millisecond
)

// tick is how often the loop looks for what is overdue (silent agents,
// frameworks past their deadline, unacknowledged updates).
const tick = time.Second

// loop is the one goroutine that owns the matcher while this master leads. It
// drains what sessions and HTTP put into the inbox, asks the matcher once,
// proposes ONE Raft entry for all of it, and acts when that is committed.
// What was proposed is waited for by a second goroutine, in order, so that
// the next turn need not wait. While entries are under way turns share the next
// one, see depth.
type loop struct {
	// Static after construction.
	config  loopConfig
	replica replicated
	logger  hclog.Logger
	feed    *feed
	meters  *meters

	greeting  gate    // of what sessions say first
	asides    asides  // what people ask that takes long
	asked     *intake // by frameworks
	inbox     *intake // what else comes
	proposed  chan proposal
	committed chan outcome
	stopped   <-chan struct{} // closed by stop, when the loop has ended
	stop      context.CancelFunc

	solving sync.WaitGroup     // of a puzzle of the matcher; run waits for it
	calling sync.WaitGroup     // of agents, likewise
	hush    context.CancelFunc // ends the calls for core; the loop's

	leads atomic.Pointer[chan struct{}] // closed while this master leads; the loop puts another in its place

	// Owned by the loop.
	led  bool       // what Raft said last; it may lead without a core for a while
	core *lead.Core // nil while this master does not lead
	term uint64     // of core
	runs uint64     // how many cores there were in term, with this one
	seen *picture   // the last one taken of core

	// What operators wait for the commit of, by number; each entry says that
	// nobody will know any more.
	unanswered map[uint64]func()
	questions  uint64
	unfinished *outcome  // was committed and acted on in part
	woken      time.Time // when the present turn began; zero between turns

	waiting  []lead.Step // of turns of core, to be proposed
	weight   int         // of waiting
	underWay int         // proposals that are not concluded
}

// loopConfig is what the loop needs of the master's configuration.
type loopConfig struct {
	name         string // of this master
	address      string // HTTP, as others reach it
	door         *door.Door
	match        match.Config
	agentTimeout time.Duration
	removalEvery time.Duration
	removalBurst int
	tracer       offers.Tracer
	feed         *feed   // nil: its own, which nobody reads
	meters       *meters // nil: its own
	// call tells an agent who leads; nil: nobody is told.
	call func(context.Context, *state.Agent, wire.MasterInfo) error
}

func newLoop(config loopConfig, r replicated, logger hclog.Logger) *loop {
	over, stop := context.WithCancel(context.Background())
	l := &loop{
		config: config, replica: r, logger: logger, feed: cmp.Or(config.feed, newFeed()), meters: cmp.Or(config.meters, newMeters(new(meter.List))),
		unanswered: map[uint64]func(){},
		greeting:   newGate(),
		asides:     newAsides(),
		asked:      newIntake(over),
		inbox:      newIntake(over),
		proposed:   make(chan proposal, depth),
		committed:  make(chan outcome, depth),
		stopped:    over.Done(),
		stop:       stop,
	}
	l.shut()
	return l
}

// begun is closed while this master leads and takes inputs.
func (l *loop) begun() <-chan struct{} { return *l.leads.Load() }

// shut lets those wait who come to a leader.
func (l *loop) shut() {
	waiting := make(chan struct{})
	l.leads.Store(&waiting)
}

// run is the loop; it returns when ctx ends and everything it started has.
func (l *loop) run(ctx context.Context) {
	defer l.solving.Wait()
	defer l.calling.Wait()
	defer l.stop()
	go l.awaitCommits()
	defer func() {
		close(l.proposed)
		for range l.committed { // until the committer has ended
		}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		asked, inbox, committed := l.asked.inputs, l.inbox.inputs, l.committed
		if l.full() {
			asked, inbox = nil, nil
		}
		if l.unfinished != nil {
			committed = nil // it is later
		}
		select {
		case <-ctx.Done():
			l.stepDown("this master stops")
			return
		case leads := <-l.replica.LeadershipChanges():
			l.stepDown("this master leads no more")
			l.led = leads
			if leads {
				l.begin()
			}
		case in := <-asked:
			l.handle(in)
			l.drain()
		case in := <-inbox:
			l.handle(in)
			l.drain()
		case out := <-committed:
			l.conclude(out)
		case <-ticker.C:
			if l.led && l.core == nil {
				l.takeUp()
			}
			l.handle(func(core *lead.Core) {
				if core != nil {
					core.Tick()
				}
			})
		case <-due.C:
			if l.unfinished != nil {
				l.goOn()
			}
		}
		l.finishTurn(due)
	}
}

// drain handles what has come meanwhile, so that it shares a turn.
func (l *loop) drain() {
	for range turnSize {
		switch {
		case l.late():
			return
		case l.unfinished != nil:
			l.goOn()
			continue
		}
		select {
		case in := <-l.asked.inputs:
			l.handle(in)
		case in := <-l.inbox.inputs:
			l.handle(in)
		case out := <-l.committed:
			l.conclude(out)
		default:
			return
		}
	}
}

// handle runs one input, telling the core what time it is.
func (l *loop) handle(in func(*lead.Core)) {
	if l.core != nil {
		l.core.At(l.now())
	}
	in(l.core)
}

// behind returns how many inputs wait.
func (l *loop) behind() int { return len(l.asked.inputs) + len(l.inbox.inputs) }

// late reports whether the present turn takes nothing more on.
func (l *loop) late() bool { return !l.woken.IsZero() && time.Since(l.woken) > turnTime }

// now is the time, and the turn's beginning where none has begun.
func (l *loop) now() time.Time {
	now := time.Now()
	if l.woken.IsZero() {
		l.woken = now
	}
	return now
}

// begin starts to lead, from what is replicated.
func (l *loop) begin() {
	if term := l.replica.Term(); term != l.term {
		l.term, l.runs = term, 0
	}
	l.runs++
	master := wire.MasterInfo{Name: l.config.name, Address: l.config.address, Term: l.term}
	s := l.replica.State()
	var root func() offers.Traceparent
	if l.config.tracer != nil {
		root = l.config.tracer.Root
	}
	l.core = lead.New(lead.Config{
		Root:   root,
		Master: master, Again: l.runs - 1, Match: l.config.match, AgentTimeout: l.config.agentTimeout,
		RemovalEvery: l.config.removalEvery, RemovalBurst: l.config.removalBurst,
	}, s, time.Now())
	l.feed.lead(master, l.runs, s, time.Now())
	close(*l.leads.Load())
	calls, hush := context.WithCancel(context.Background())
	l.hush = hush
	if l.config.call != nil {
		l.calling.Go(func() { l.callAgents(calls, master) })
	}
}

// finishTurn lets the core decide, and proposes what the turn collected.
func (l *loop) finishTurn(due *time.Timer) {
	if l.core == nil {
		l.woken = time.Time{}
		return
	}
	now := l.now()
	l.core.At(now)
	l.core.Follow(l.feed.matchingWanted())
	if l.behind() > 0 {
		l.core.Behind()
	}
	core, turn := l.core, l.core.Finish()
	l.meters.decisions.add(turn.Searches, time.Since(now))
	for _, n := range turn.Notes {
		l.logger.Info(n.Text, n.Args...)
	}
	l.feed.tell(turn.Told)
	for _, s := range turn.Spans {
		l.config.tracer.Record(s)
	}
	l.wait(turn.Steps)
	l.propose(now)
	if turn.Puzzle != nil {
		l.solve(core, turn.Puzzle)
	}
	next := now.Add(time.Hour)
	if !turn.Next.IsZero() {
		next = turn.Next
	}
	if turn.More || l.unfinished != nil {
		next = now
	}
	due.Reset(max(next.Sub(now), 0))
	l.meters.turns.Observe(time.Since(l.woken).Seconds())
	l.meters.inbox.Set(float64(l.behind()))
	l.woken = time.Time{}
}

// solve has a puzzle solved beside the loop, for the core that it is of. There is
// one at a time, but for those of cores that are gone.
func (l *loop) solve(of *lead.Core, p *match.Puzzle) {
	l.solving.Go(func() {
		p.Solve()
		l.inbox.enter(func(core *lead.Core) {
			if core == of {
				core.Solved(p)
			}
		})
	})
}

// stepDown drops everything that only a leader may hold. Frameworks and
// agents find the next leader by themselves.
func (l *loop) stepDown(reason string) {
	if l.core == nil {
		return
	}
	l.logger.Info("gives up the leadership", "term", l.term, "reason", reason)
	l.hush()
	l.core.Close(reason)
	l.core, l.seen, l.unfinished = nil, nil, nil
	l.waiting, l.weight = nil, 0
	l.feed.cease()
	l.shut()
	for id, giveUp := range l.unanswered {
		delete(l.unanswered, id)
		giveUp()
	}
}

// takeUp builds the soft state anew where this master still leads. Where that
// can't be known it is tried again with every tick: Raft says nothing of a
// leader that goes on, such as after a transfer to a master that hangs.
func (l *loop) takeUp() {
	// What was proposed before and not refused may still commit, so the state
	// to begin with is the one after all of it.
	if l.replica.VerifyLeader() == nil && l.replica.Barrier() == nil {
		l.begin()
	}
}

// restore puts s in the place of the replicated state. The loop waits for it,
// so that nothing is decided on what is about to go; frameworks and agents
// connect anew and find the state that was restored.
func (l *loop) restore(ctx context.Context, s *state.State) error {
	_, err := ask(ctx, l, func(_ *lead.Core, answer func(struct{}, error)) {
		l.stepDown("a snapshot is restored")
		err := l.replica.Restore(l.term, s)
		l.takeUp()
		answer(struct{}{}, err)
	})
	return err
}
