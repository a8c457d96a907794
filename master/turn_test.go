package master

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// agreement is a replica that says what a test wants, and notes what it is
// asked.
type agreement struct {
	asked           []string
	terms           []uint64 // of what was proposed
	verify, barrier error
	changes         chan bool
}

var _ replicated = (*agreement)(nil)

func (a *agreement) Apply(term uint64, _ []state.Command) *replica.Future {
	a.terms = append(a.terms, term)
	return nil
}
func (a *agreement) Restore(uint64, *state.State) error { return nil }
func (a *agreement) State() *state.State                { return state.New() }
func (a *agreement) Term() uint64                       { return 7 }
func (a *agreement) LeadershipChanges() <-chan bool     { return a.changes }
func (a *agreement) VerifyLeader() error {
	a.asked = append(a.asked, "who leads")
	return a.verify
}
func (a *agreement) Barrier() error {
	a.asked = append(a.asked, "what is under way")
	return a.barrier
}

// turning is a loop that leads, of which only the test turns the handle.
func turning(t *testing.T, a *agreement) *loop {
	t.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(loopConfig{door: d, match: match.Config{OfferTimeout: time.Minute}, agentTimeout: time.Minute, removalEvery: time.Second, removalBurst: 1}, a, hclog.NewNullLogger())
	l.begin()
	return l
}

// proposed lets the loop propose one command, and returns it; done counts its
// answers.
func proposed(l *loop, done *int) proposal {
	l.core.Commit(state.Command{Init: &state.Init{ClusterID: "c0de"}}, func(state.Result) { *done++ })
	l.finishTurn(time.NewTimer(time.Hour))
	return <-l.proposed
}

// What was committed is acted on, for the term in which it was proposed.
func TestCommittedTurnIsActedOn(t *testing.T) {
	a, done := &agreement{}, 0
	l := turning(t, a)
	p := proposed(l, &done)
	l.conclude(outcome{proposal: p, results: make([]state.Result, 1)})
	if done != 1 || !slices.Equal(a.terms, []uint64{7}) {
		t.Errorf("answered %d times, proposed for the terms %v, want 7", done, a.terms)
	}
}

// What was not committed did not happen, and what was built on it is dropped:
// the loop begins anew, after all that is under way, if it still leads.
func TestFailedTurnDidNotHappen(t *testing.T) {
	for name, c := range map[string]struct {
		verify, barrier error
		asked           []string
		leads           bool
	}{
		"it still leads":      {nil, nil, []string{"who leads", "what is under way"}, true},
		"it leads no more":    {errNotLeader(), nil, []string{"who leads"}, false},
		"there is no knowing": {nil, errNotLeader(), []string{"who leads", "what is under way"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, done := &agreement{verify: c.verify, barrier: c.barrier}, 0
			l := turning(t, a)
			first := l.core
			p := proposed(l, &done)
			l.conclude(outcome{proposal: p, err: errors.New("no majority")})
			if done != 0 {
				t.Error("what was not committed is answered")
			}
			if l.core == first || (l.core != nil) != c.leads {
				t.Errorf("it leads on: %t, with what it had before: %t", l.core != nil, l.core == first)
			}
			if !slices.Equal(a.asked, c.asked) {
				t.Errorf("it asked %q, want %q", a.asked, c.asked)
			}
		})
	}
}

// What an earlier leadership proposed is nothing to a later one, however it
// came out.
func TestOutcomeOfAnEarlierLeadershipIsIgnored(t *testing.T) {
	a, done := &agreement{}, 0
	l := turning(t, a)
	p := proposed(l, &done)
	l.stepDown("the test says so")
	l.begin()
	second := l.core
	l.conclude(outcome{proposal: p, results: make([]state.Result, 1)})
	l.conclude(outcome{proposal: p, err: errors.New("no majority")})
	if done != 0 || l.core != second {
		t.Errorf("answered %d times, begun anew: %t", done, l.core != second)
	}
}

// A master that leads no more answers nothing, and one that lost the
// leadership and won it again has none of what it had.
func TestLeadershipIsFollowed(t *testing.T) {
	a := &agreement{changes: make(chan bool)}
	l := turning(t, a)
	l.stepDown("the test says so")
	go l.run(t.Context())
	core := func() (c *lead.Core) {
		_, err := ask(t.Context(), l, func(now *lead.Core, answer func(struct{}, error)) {
			c = now
			answer(struct{}{}, nil)
		})
		if (err == nil) != (c != nil) {
			t.Errorf("leads: %t, answers: %v", c != nil, err)
		}
		return c
	}
	a.changes <- true
	first := core()
	a.changes <- true
	second := core()
	a.changes <- false
	if third := core(); first == nil || second == nil || first == second || third != nil {
		t.Errorf("leads with %p, then %p, then %p", first, second, third)
	}
}

// A leader that could not propose for a while, and could not know whether it
// still led, leads on once it can, though Raft has nothing to say about that.
func TestLeaderGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, done := &agreement{changes: make(chan bool), barrier: errNotLeader()}, 0
		l := turning(t, a)
		l.led = true
		p := proposed(l, &done)
		l.conclude(outcome{proposal: p, err: errors.New("a transfer of the leadership is under way")})
		if l.core != nil {
			t.Fatal("it leads without knowing")
		}
		a.barrier = nil
		ctx, stop := context.WithCancel(t.Context())
		go l.run(ctx)
		time.Sleep(2 * tick)
		synctest.Wait()
		stop()
		<-l.stopped
		if asked := len(a.asked); asked != 4 {
			t.Errorf("it asked %q, want the same twice", a.asked)
		}
		if l.runs != 2 {
			t.Errorf("it began %d times, want 2", l.runs)
		}
	})
}

// A framework's store is read, and it is told what is known of its tasks, only
// where a majority says that this master leads; that comes before all else.
func TestStoreIsReadWithTheMajority(t *testing.T) {
	a := &agreement{changes: make(chan bool), verify: offers.Errorf(offers.Unavailable, "no majority answers")}
	l := turning(t, a)
	go l.run(t.Context())
	s := &stage{t, l}
	f := s.connect(s.serveFramework, wire.ToFramework)
	for _, ask := range []wire.Message{&wire.StateRequest{Op: "get", Key: "k"}, &wire.StateRequest{Op: "list", Key: "k"}, &wire.Reconcile{}} {
		f.send(ask, "r")
		frame, err := f.link.Receive()
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := wire.Decode(wire.ToFramework, frame)
		if e, ok := m.(*wire.ErrorMessage); err != nil || !ok || e.Code != offers.Unavailable {
			t.Errorf("%+v without a majority gets %s", ask, frame)
		}
	}
}

// TestLongCommitIsSpreadOverTurns: what follows from a commit may take long,
// such as that a thousand agents are back with their tasks. No turn takes all of
// it, everything keeps its order, and what is committed later waits.
func TestLongCommitIsSpreadOverTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := turning(t, &agreement{})
		var acted []int
		commit := func(from, to int) outcome {
			for i := from; i < to; i++ {
				l.core.Commit(state.Command{Init: &state.Init{ClusterID: "c0de"}}, func(state.Result) {
					acted = append(acted, i)
					time.Sleep(10 * time.Millisecond)
				})
			}
			l.finishTurn(time.NewTimer(time.Hour))
			return outcome{proposal: <-l.proposed, results: make([]state.Result, to-from)}
		}
		first, second := commit(0, 10), commit(10, 12)
		l.conclude(first)
		if l.unfinished == nil || len(acted) > 3 {
			t.Fatalf("%v were acted on in one turn", acted)
		}
		soon := time.NewTimer(time.Hour)
		l.finishTurn(soon)
		<-soon.C // the next turn is due at once
		l.committed <- second
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.run(ctx) }()
		time.Sleep(time.Minute)
		cancel()
		<-done
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(acted, want) {
			t.Errorf("acted on %v; want %v", acted, want)
		}
	})
}

// While as many entries are under way as may be, turns share the next one, in
// their order; what waits when the leadership ends was never proposed.
func TestTurnsShareTheNextEntry(t *testing.T) {
	a := &agreement{}
	l := turning(t, a)
	timer := time.NewTimer(time.Hour)
	var answered []int
	turn := func(n int) {
		l.core.Commit(state.Command{Init: &state.Init{ClusterID: "c0de"}}, func(state.Result) { answered = append(answered, n) })
		l.finishTurn(timer)
	}
	for n := range depth + 3 {
		turn(n)
	}
	var sizes []int
	for len(l.proposed) > 0 {
		p := <-l.proposed
		sizes = append(sizes, len(p.batch))
		l.conclude(outcome{proposal: p, results: make([]state.Result, len(p.batch))})
		l.finishTurn(timer)
	}
	if want := append(slices.Repeat([]int{1}, depth), 3); !slices.Equal(sizes, want) {
		t.Errorf("entries of %d commands; want %d", sizes, want)
	}
	if !slices.IsSorted(answered) || len(answered) != depth+3 {
		t.Errorf("%d were answered", answered)
	}

	for n := range depth + 1 {
		turn(n)
	}
	l.stepDown("the test has it so")
	l.begin()
	for range depth {
		l.conclude(outcome{proposal: <-l.proposed})
	}
	l.finishTurn(timer)
	if len(l.proposed) != 0 || l.underWay != 0 || len(answered) != depth+3 {
		t.Errorf("%d entries are proposed and %d under way after the leadership of their turns, %d turns were answered", len(l.proposed), l.underWay, len(answered)-depth-3)
	}
}

// Where an entry's worth of commands waits for the disk, nothing more is taken
// in until there is room.
func TestFullTurnsHoldTheInbox(t *testing.T) {
	l := turning(t, &agreement{})
	timer := time.NewTimer(time.Hour)
	commit := func(n int) {
		for range n {
			l.core.Commit(state.Command{Init: &state.Init{ClusterID: "c0de"}}, nil)
		}
		l.finishTurn(timer)
	}
	for range depth {
		commit(1)
	}
	commit(entryCommands - 1)
	if l.full() {
		t.Error("there is room for one more, and nothing is taken")
	}
	commit(1)
	if !l.full() {
		t.Error("an entry's worth waits, and more is taken")
	}
	p := <-l.proposed
	l.conclude(outcome{proposal: p, results: make([]state.Result, 1)})
	l.finishTurn(timer)
	if l.full() || l.weight != 0 {
		t.Errorf("there is room, and nothing is taken; %d bytes wait", l.weight)
	}
}
