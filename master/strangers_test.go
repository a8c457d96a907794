package master

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// reasoned is a link that notes why it ended.
type reasoned struct {
	wire.Link
	ended chan string
}

func (r reasoned) End(reason string) {
	select {
	case r.ended <- reason:
	default:
	}
	r.Link.End(reason)
}

// visit has a session served whose peer says the same every few seconds, and
// returns why and after how long the session ended, "" if it went on for an hour.
func visit(t *testing.T, l *loop, serve func(*loop, wire.Link, visitor), first, then wire.Message) (reason string, after time.Duration) {
	t.Helper()
	theirs, ours := wire.Pipe(wire.Options{})
	link, served, began := reasoned{ours, make(chan string, 1)}, make(chan struct{}), time.Now()
	go func() {
		defer close(served)
		serve(l, link, visitor{})
	}()
	p := &peer{TB: t, link: theirs}
	p.send(first, "")
	t.Cleanup(func() { theirs.Close("done"); <-served })
	for time.Since(began) < time.Hour {
		time.Sleep(7 * time.Second)
		select {
		case reason := <-link.ended:
			return reason, time.Since(began)
		default:
			p.send(then, "")
		}
	}
	return "", time.Hour
}

// TestWhoNeverRegistersIsSentAway however often it gives a sign of life.
func TestWhoNeverRegistersIsSentAway(t *testing.T) {
	for name, c := range map[string]struct {
		serve       func(*loop, wire.Link, visitor)
		first, then wire.Message
	}{
		"a framework that beats":      {(*loop).serveFramework, &wire.Heartbeat{}, &wire.Heartbeat{}},
		"a framework that is refused": {(*loop).serveFramework, &wire.Register{}, &wire.Suppress{}},
		"an agent that beats":         {(*loop).serveAgent, &wire.Heartbeat{}, &wire.Heartbeat{}},
		"an agent that is refused":    {(*loop).serveAgent, &wire.RegisterAgent{}, &wire.Heartbeat{}},
		"an agent that only lists":    {(*loop).serveAgent, &wire.AgentTasks{}, &wire.AgentTasks{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := turning(t, &agreement{})
				ctx, stop := context.WithCancel(t.Context())
				go l.run(ctx)
				reason, after := visit(t, l, c.serve, c.first, c.then)
				if reason != "nobody registered for 30s" || after > registerPatience+10*time.Second {
					t.Errorf("it is closed after %v for %q", after, reason)
				}
				stop()
				<-l.stopped
			})
		})
	}
}

// TestWhoRegisteredStays, also where the commit of that takes long.
func TestWhoRegisteredStays(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(*loop, wire.Link, visitor)
		first wire.Message
	}{
		"a framework": {(*loop).serveFramework, &wire.Register{Framework: wire.FrameworkInfo{Name: "f", Role: "default"}}},
		"an agent":    {(*loop).serveAgent, &wire.RegisterAgent{Agent: offers.Agent{Name: "a", Host: "h", Total: offers.Inventory{Amounts: offers.Amounts{1000}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := turning(t, &agreement{})
				done := make(chan struct{})
				go turn(l, 3*registerPatience, done)
				if reason, after := visit(t, l, c.serve, c.first, &wire.Heartbeat{}); reason != "" {
					t.Errorf("it is closed after %v for %q", after, reason)
				}
				close(done)
			})
		})
	}
}

// agreeing is a replica that has applied what was proposed.
type agreeing struct {
	*agreement
	state *state.State // owned by whoever turns the loop
}

func (a *agreeing) State() *state.State { return a.state }

// turn turns a loop until done, in the place of its run; commits take so long.
func turn(l *loop, commits time.Duration, done <-chan struct{}) {
	now, _ := state.New().Apply([]state.Command{{Init: &state.Init{ClusterID: "c0de"}}})
	a := &agreeing{&agreement{}, now}
	l.replica = a
	due, late := time.NewTimer(time.Hour), make(chan proposal, depth)
	for {
		select {
		case in := <-l.asked.inputs:
			l.handle(in)
		case in := <-l.inbox.inputs:
			l.handle(in)
		case p := <-l.proposed:
			time.AfterFunc(commits, func() { late <- p })
			continue
		case p := <-late:
			var commands []state.Command
			for _, s := range p.batch {
				commands = append(commands, s.Command)
			}
			out := outcome{proposal: p}
			a.state, out.results = a.state.Apply(commands)
			l.conclude(out)
		case <-done:
			l.stop()
			return
		}
		l.finishTurn(due)
	}
}
