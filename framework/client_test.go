package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var unit = offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000, offers.Mem: 1 << 20}}

func task(id offers.TaskID) offers.Task {
	return offers.Task{ID: id, Resources: unit, Command: &offers.Command{Shell: "true"}}
}

func offer(id offers.OfferID, demand offers.DemandID, agent offers.AgentID, units int64) wire.Offer {
	return wire.Offer{ID: id, DemandID: demand, Agent: wire.OfferAgent{ID: agent}, Resources: wire.Offered{Amounts: unit.Amounts.Times(units)}}
}

func connect(t *testing.T, masters ...string) chan *framework.Client {
	t.Helper()
	out := make(chan *framework.Client, 1)
	go func() {
		c, err := framework.Connect(context.Background(), framework.Config{Masters: masters, Info: wire.FrameworkInfo{Name: "test"}})
		if err != nil {
			t.Errorf("connect: %v", err)
		}
		out <- c
	}()
	return out
}

func next[E framework.Event](t *testing.T, c *framework.Client) E {
	t.Helper()
	e, err := c.Next(context.Background())
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	got, ok := e.(E)
	if !ok {
		t.Fatalf("next: got %T %+v, want %T", e, e, got)
	}
	return got
}

func counted(id offers.DemandID, n int) offers.Demand {
	return offers.Demand{ID: id, Resources: unit, Count: &n}
}

// counts returns the counts of a demand message by id.
func counts(t *testing.T, m *wire.DemandMessage) map[offers.DemandID]int {
	t.Helper()
	out := map[offers.DemandID]int{}
	for _, raw := range m.Demands {
		var d offers.Demand
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		out[d.ID] = *d.Count
	}
	return out
}

// pair returns a registered client and the master's side of its link.
func pair(t *testing.T, m *frameworktest.Master) (*framework.Client, *frameworktest.Conn) {
	t.Helper()
	connecting := connect(t, m.Address())
	conn := m.Conn()
	conn.Register("f1", 1)
	c := <-connecting
	t.Cleanup(c.Close)
	return c, conn
}

func TestOfferToUpdates(t *testing.T) {
	c, m := pair(t, frameworktest.NewMaster(t))
	if c.ID() != "f1" {
		t.Fatalf("id %q", c.ID())
	}
	if err := c.Demand(counted("d", 2)); err != nil {
		t.Fatal(err)
	}
	frameworktest.Expect[*wire.DemandMessage](m)
	m.Send(&wire.OffersMessage{Offers: []wire.Offer{offer("o1", "d", "a1", 2)}}, "")
	o := next[framework.Offered](t, c).Offers[0]
	if n := framework.Units(o.Resources, unit); n != 2 {
		t.Fatalf("units %d, want 2", n)
	}
	if err := c.Accept([]offers.OfferID{"o1"}, task("t1")); err != nil {
		t.Fatal(err)
	}
	acc, request := frameworktest.Expect[*wire.Accept](m)
	if len(acc.Tasks) != 1 || acc.OfferIDs[0] != "o1" {
		t.Fatalf("accept %+v", acc)
	}
	m.Send(&wire.Accepted{OfferIDs: acc.OfferIDs, TaskIDs: []offers.TaskID{"t1"}}, request)
	if got := next[framework.Accepted](t, c); got.Tasks[0] != "t1" {
		t.Fatalf("accepted %+v", got)
	}
	if left := c.Left("d"); left != 1 {
		t.Fatalf("left %d, want 1", left)
	}
	m.Update(offers.Status{Task: "t1", State: offers.Running, UpdateID: "u1"})
	m.Update(offers.Status{Task: "t1", State: offers.Running, UpdateID: "u1"}) // resent before it was acknowledged
	next[framework.Updated](t, c)
	c.Withdraw("d") // the first message after: nothing was acknowledged yet
	if got := counts(t, first(frameworktest.Expect[*wire.DemandMessage](m))); got["d"] != 0 {
		t.Fatalf("withdrawn with %v", got)
	}
	m.Update(offers.Status{Task: "t1", State: offers.Finished, UpdateID: "u2"})
	u := next[framework.Updated](t, c) // acknowledges u1, shows the duplicate not
	if u.Status.UpdateID != "u2" {
		t.Fatalf("got %+v, want u2: the duplicate was shown", u)
	}
	if ack, _ := frameworktest.Expect[*wire.Acknowledge](m); ack.UpdateID != "u1" {
		t.Fatalf("acknowledged %s, want u1", ack.UpdateID)
	}
	c.Acknowledge(u)
	acknowledged(t, m, "u2")
	m.Update(offers.Status{Task: "t1", State: offers.Finished, UpdateID: "u2"}) // the acknowledgement was lost
	acknowledged(t, m, "u2")
}

// acknowledged waits for an acknowledgement; those of an update before come once
// more where its duplicate was read late.
func acknowledged(t *testing.T, m *frameworktest.Conn, want offers.UpdateID) {
	t.Helper()
	for range 2 {
		if ack, _ := frameworktest.Expect[*wire.Acknowledge](m); ack.UpdateID == want {
			return
		}
	}
	t.Fatalf("%s is not acknowledged", want)
}

func first[A, B any](a A, _ B) A { return a }

func TestFailoverFollowsRedirectAndReconciles(t *testing.T) {
	old, leader := frameworktest.NewMaster(t), frameworktest.NewMaster(t)
	c, m := pair(t, old)
	if err := c.Demand(counted("d", 5)); err != nil {
		t.Fatal(err)
	}
	frameworktest.Expect[*wire.DemandMessage](m)
	m.Send(&wire.OffersMessage{Offers: []wire.Offer{offer("o1", "d", "a1", 1), offer("o2", "d", "a1", 2)}}, "")
	next[framework.Offered](t, c)
	if err := c.Accept([]offers.OfferID{"o1"}, task("t1")); err != nil {
		t.Fatal(err)
	}
	acc, request := frameworktest.Expect[*wire.Accept](m)
	m.Send(&wire.Accepted{OfferIDs: acc.OfferIDs, TaskIDs: []offers.TaskID{"t1"}}, request)
	next[framework.Accepted](t, c)
	if err := c.Accept([]offers.OfferID{"o2"}, task("t2"), task("t3")); err != nil {
		t.Fatal(err)
	}
	frameworktest.Expect[*wire.Accept](m) // the answer of which is lost
	old.Redirect(leader.Address())
	m.Close()

	m = leader.Conn()
	if info := m.Register("f1", 2); info.ID != "f1" {
		t.Fatalf("registered anew with id %q", info.ID)
	}
	if got := counts(t, first(frameworktest.Expect[*wire.DemandMessage](m))); got["d"] != 2 {
		t.Fatalf("stated %v again, want 2: 5, 1 accepted, 2 in doubt", got)
	}
	ask, request := frameworktest.Expect[*wire.Reconcile](m)
	if len(ask.TaskIDs) != 2 || ask.TaskIDs[0] != "t2" || ask.TaskIDs[1] != "t3" {
		t.Fatalf("reconciled %v", ask.TaskIDs)
	}
	m.Update(offers.Status{Task: "t2", State: offers.Staging})
	m.Update(offers.Status{Task: "t3", State: offers.Dropped, Reason: offers.ReasonUnknownTask})
	m.Send(&wire.Reconciled{}, request)
	next[framework.Disconnected](t, c)
	if got := next[framework.Reconnected](t, c); got.Master.Term != 2 {
		t.Fatalf("reconnected %+v", got)
	}
	if u := next[framework.Updated](t, c); u.Status.Task != "t2" || u.Status.State != offers.Staging {
		t.Fatalf("updated %+v", u)
	}
	if u := next[framework.Updated](t, c); u.Status.Task != "t3" || u.Status.State != offers.Dropped {
		t.Fatalf("updated %+v", u)
	}
	if got := counts(t, first(frameworktest.Expect[*wire.DemandMessage](m))); got["d"] != 3 {
		t.Fatalf("stated %v, want 3 since t3 never was", got)
	}
	err := c.Accept([]offers.OfferID{"o2"}, task("t4"))
	if !errors.Is(err, &offers.Error{Code: offers.OfferGone}) {
		t.Fatalf("an offer of the former leader: %v", err)
	}
}

func TestOlderTermIsFenced(t *testing.T) {
	master := frameworktest.NewMaster(t)
	connecting := connect(t, master.Address())
	m := master.Conn()
	m.Register("f1", 7)
	c := <-connecting
	defer c.Close()
	m.Close()
	old := master.Conn()
	old.Register("f1", 6)
	m = master.Conn() // it hung up and tried again
	m.Register("f1", 7)
	next[framework.Disconnected](t, c)
	next[framework.Reconnected](t, c)
}

func TestTerminalErrors(t *testing.T) {
	for _, code := range []offers.Code{offers.FailedOver, offers.FrameworkRemoved, offers.Unauthenticated} {
		t.Run(string(code), func(t *testing.T) {
			c, m := pair(t, frameworktest.NewMaster(t))
			m.Update(offers.Status{Task: "t", State: offers.Running, UpdateID: "u"})
			m.Send(&wire.ErrorMessage{Code: code, Message: "because"}, "")
			next[framework.Updated](t, c) // what came before the end is still shown
			for range 2 {
				if _, err := c.Next(context.Background()); !errors.Is(err, &offers.Error{Code: code}) {
					t.Fatalf("next: %v", err)
				}
			}
			if _, _, err := c.Get(context.Background(), "k"); !errors.Is(err, &offers.Error{Code: code}) {
				t.Fatalf("get: %v", err)
			}
		})
	}
}

func TestConnectErrors(t *testing.T) {
	refusing := frameworktest.NewMaster(t)
	refusing.Refuse(http.StatusUnauthorized)
	busy := frameworktest.NewMaster(t)
	busy.Refuse(http.StatusServiceUnavailable)
	role := frameworktest.NewMaster(t)
	role.Serve(func(l wire.Link) {
		m := frameworktest.Over(t, l)
		_, request := frameworktest.Expect[*wire.Register](m)
		m.Send(&wire.ErrorMessage{Code: offers.BadMessage, Message: "name is empty"}, request)
	})
	for _, c := range []struct {
		name    string
		masters []string
		want    string
	}{
		{"none", nil, "masters is empty"},
		{"no port", []string{"localhost"}, `master "localhost" is not host:port`},
		{"scheme", []string{"ftp://localhost:1"}, "give host:port or http(s)"},
		{"path", []string{"localhost:1/x"}, "is not host:port"},
		{"token", []string{refusing.Address()}, "asks for a token"},
		{"registration", []string{role.Address()}, "name is empty"},
		{"no leader", []string{busy.Address()}, "Service Unavailable"},
		{"nobody", []string{"127.0.0.1:1"}, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			_, err := framework.Connect(ctx, framework.Config{Masters: c.masters})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestDeadAndLeaderlessMastersArePassedOver(t *testing.T) {
	busy, leader := frameworktest.NewMaster(t), frameworktest.NewMaster(t)
	busy.Refuse(http.StatusServiceUnavailable)
	connecting := connect(t, "127.0.0.1:1", busy.Address(), leader.Address())
	leader.Conn().Register("f1", 1)
	(<-connecting).Close()
}

func TestKillOutlivesTheConnection(t *testing.T) {
	master := frameworktest.NewMaster(t)
	c, m := pair(t, master)
	grace := 3 * time.Second
	c.Kill("t1", &grace)
	frameworktest.Expect[*wire.Kill](m)
	c.Suppress()
	frameworktest.Expect[*wire.Suppress](m)
	m.Close()
	m = master.Conn()
	m.Register("f1", 1)
	frameworktest.Expect[*wire.Suppress](m)
	if k, _ := frameworktest.Expect[*wire.Kill](m); k.TaskID != "t1" || *k.Grace != offers.Duration(grace) {
		t.Fatalf("kill %+v", k)
	}
	m.Update(offers.Status{Task: "t1", State: offers.Killed, UpdateID: "u"})
	next[framework.Disconnected](t, c)
	next[framework.Reconnected](t, c)
	c.Acknowledge(next[framework.Updated](t, c))
	frameworktest.Expect[*wire.Acknowledge](m)
	m.Close()
	m = master.Conn()
	m.Register("f1", 1)
	frameworktest.Expect[*wire.Suppress](m)
	c.Revive()
	frameworktest.Expect[*wire.Revive](m) // and no kill
}

func TestStore(t *testing.T) {
	master := frameworktest.NewMaster(t)
	c, m := pair(t, master)
	ctx := context.Background()
	type result struct {
		version uint64
		err     error
	}
	put := make(chan result, 1)
	version := uint64(0)
	go func() {
		v, err := c.Put(ctx, "k", json.RawMessage(`{"a":1}`), &version)
		put <- result{v, err}
	}()
	ask, request := frameworktest.Expect[*wire.StateRequest](m)
	if ask.Op != "put" || string(ask.Value) != `{"a":1}` || *ask.Version != 0 {
		t.Fatalf("put asked %+v", ask)
	}
	m.Send(&wire.StateAnswer{Op: "put", Key: "k", Version: 1}, request)
	if r := <-put; r.err != nil || r.version != 1 {
		t.Fatalf("put: %+v", r)
	}
	go func() {
		v, err := c.Put(ctx, "k", json.RawMessage(`2`), &version)
		put <- result{v, err}
	}()
	_, request = frameworktest.Expect[*wire.StateRequest](m)
	m.Send(&wire.ErrorMessage{Code: offers.VersionConflict, Message: "k has version 1"}, request)
	if r := <-put; !errors.Is(r.err, &offers.Error{Code: offers.VersionConflict}) {
		t.Fatalf("put: %+v", r)
	}
	got := make(chan result, 1)
	go func() {
		_, v, err := c.Get(ctx, "k")
		got <- result{v, err}
	}()
	frameworktest.Expect[*wire.StateRequest](m)
	go func() {
		v, err := c.Put(ctx, "k", json.RawMessage(`3`), nil)
		put <- result{v, err}
	}()
	frameworktest.Expect[*wire.StateRequest](m)
	m.Close()
	if r := <-put; !errors.Is(r.err, framework.ErrAnswerLost) {
		t.Fatalf("put over a failover: %+v", r)
	}
	m = master.Conn()
	m.Register("f1", 2)
	ask, request = frameworktest.Expect[*wire.StateRequest](m)
	m.Send(&wire.StateAnswer{Op: "get", Key: "k", Version: 9}, request)
	if r := <-got; r.err != nil || r.version != 9 || ask.Op != "get" {
		t.Fatalf("get over a failover: %+v", r)
	}
	if _, err := c.Put(ctx, "k", json.RawMessage(`{`), nil); err == nil {
		t.Fatal("put took a value that is not JSON")
	}
	impatient, giveUp := context.WithCancel(ctx)
	go func() {
		_, v, err := c.Get(impatient, "k")
		got <- result{v, err}
	}()
	frameworktest.Expect[*wire.StateRequest](m)
	giveUp()
	if r := <-got; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("get that was given up: %+v", r)
	}
	m.Close()
	m = master.Conn()
	m.Register("f1", 3)
	go func() {
		v, err := c.Put(ctx, "k", json.RawMessage(`4`), nil)
		put <- result{v, err}
	}()
	if ask, request = frameworktest.Expect[*wire.StateRequest](m); ask.Op != "put" {
		t.Fatalf("a %s that was given up is asked again", ask.Op)
	}
	m.Send(&wire.StateAnswer{Op: "put", Key: "k", Version: 10}, request)
	if r := <-put; r.err != nil {
		t.Fatalf("put: %+v", r)
	}
}

func TestAcceptIsJudgedBeforeItIsSent(t *testing.T) {
	c, m := pair(t, frameworktest.NewMaster(t))
	m.Send(&wire.OffersMessage{Offers: []wire.Offer{offer("o1", "", "a1", 1), offer("o2", "", "a2", 1), offer("o3", "", "a1", 1)}}, "")
	next[framework.Offered](t, c)
	m.Send(&wire.Rescind{OfferIDs: []offers.OfferID{"o3", "never"}, Reason: "expired"}, "")
	if r := next[framework.Rescinded](t, c); len(r.Offers) != 1 {
		t.Fatalf("rescinded %+v", r)
	}
	big := task("big")
	big.Command.Shell = strings.Repeat("x", wire.MaxMessage)
	for _, x := range []struct {
		offers []offers.OfferID
		tasks  []offers.Task
		code   offers.Code
	}{
		{[]offers.OfferID{"o3"}, []offers.Task{task("t")}, offers.OfferGone},
		{[]offers.OfferID{"o1", "o2"}, []offers.Task{task("t")}, offers.MixedAgents},
		{[]offers.OfferID{"o1"}, []offers.Task{task("..")}, offers.BadTask},
		{[]offers.OfferID{"o1"}, []offers.Task{task("t"), task("t")}, offers.TaskIDInUse},
		{[]offers.OfferID{"o1"}, []offers.Task{big}, offers.TooLarge},
		{[]offers.OfferID{"o1"}, nil, offers.BadMessage},
	} {
		if err := c.Accept(x.offers, x.tasks...); !errors.Is(err, &offers.Error{Code: x.code}) {
			t.Errorf("accept of %v: %v, want %s", x.offers, err, x.code)
		}
	}
	if err := c.Demand(counted("a", 1), counted("b", -1)); !errors.Is(err, &offers.Error{Code: offers.BadDemand}) {
		t.Errorf("bad demand: %v", err)
	}
	if err := c.Accept([]offers.OfferID{"o1"}, task("t")); err != nil {
		t.Fatal(err)
	}
	frameworktest.Expect[*wire.Accept](m) // the first message of all
}

// TestSilence shows in virtual time that a silent master is left.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := make(chan wire.Link, 4)
		start := time.Now()
		dial := func(context.Context, string) (wire.Link, error) {
			ours, theirs := wire.Pipe(wire.Options{})
			links <- theirs
			return ours, nil
		}
		registered := make(chan *frameworktest.Conn, 1)
		go func() {
			m := frameworktest.Over(t, <-links)
			m.Register("f1", 1)
			registered <- m
		}()
		c, err := framework.Connect(context.Background(), framework.Config{Masters: []string{"m:1"}, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		<-registered
		m := frameworktest.Over(t, <-links) // it tried another
		if d := time.Since(start); d < 45*time.Second || d > 50*time.Second {
			t.Errorf("left after %v; heartbeats come every 15 s, three may be missed", d)
		}
		m.Register("f1", 1)
		next[framework.Disconnected](t, c)
		next[framework.Reconnected](t, c)
		c.Close()
		if _, err := c.Next(context.Background()); !errors.Is(err, framework.ErrClosed) {
			t.Errorf("next after close: %v", err)
		}
	})
}

// TestOthersAreAskedAboutASilentMaster: one that was stopped ends no connection, and is
// left when another leads or names another, and not when it is named itself, or nobody
// knows; then it has its time.
func TestOthersAreAskedAboutASilentMaster(t *testing.T) {
	const beat, slack = 15 * time.Second, 4 * time.Second // until it is noticed
	for _, c := range []struct {
		name  string
		other error         // what the other master answers; nil: it leads
		term  uint64        // in which it leads; the silent one leads in term 2
		until time.Duration // it does not know who leads
		least time.Duration
	}{
		{"the other leads", nil, 0, 0, beat},
		{"the other leads in a later term", nil, 3, 0, beat},
		{"the other is the silent one by another name", nil, 2, 0, 3 * beat},
		{"the other led before the silent one", nil, 1, 0, 3 * beat},
		{"the other learns who leads later", nil, 0, 2 * beat, 2 * beat},
		{"the other names a third", &wire.RedirectError{Location: "ws://m3:1/v1/framework"}, 0, 0, beat},
		{"the other names the silent one", &wire.RedirectError{Location: "ws://m1:1/v1/framework"}, 0, 0, 3 * beat},
		{"the other names the silent one as that calls itself", &wire.RedirectError{Location: "ws://10.0.0.1:1/v1/framework"}, 0, 0, 3 * beat},
		{"the other does not know", &wire.StatusError{Status: 503}, 0, 0, 3 * beat},
		{"the other is dead", errors.New("connection refused"), 0, 0, 3 * beat},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var firsts atomic.Int64
				dial := func(_ context.Context, at string) (wire.Link, error) {
					if strings.Contains(at, "m1") {
						if firsts.Add(1) > 1 {
							return nil, errors.New("connection refused")
						}
					} else if time.Since(start) < c.until {
						return nil, &wire.StatusError{Status: 503}
					} else if c.other != nil && time.Since(start) < c.least+slack {
						return nil, c.other
					}
					ours, theirs := wire.Pipe(wire.Options{Term: c.term})
					go func() {
						frame, err := theirs.Receive()
						if err != nil {
							return // it was only asked
						}
						_, env, err := wire.Decode(wire.FromFramework, frame)
						if err != nil {
							t.Error(err)
						}
						frameworktest.Over(t, theirs).Send(&wire.Registered{FrameworkID: "f1", Master: wire.MasterInfo{Address: "10.0.0.1:1", Term: 2}, Heartbeat: offers.Duration(beat)}, env.RequestID)
					}()
					return ours, nil
				}
				client, err := framework.Connect(context.Background(), framework.Config{Masters: []string{"m1:1", "m2:1"}, Dial: dial})
				if err != nil {
					t.Fatal(err)
				}
				next[framework.Disconnected](t, client)
				if took := time.Since(start); took < c.least || took > c.least+slack {
					t.Errorf("it was left after %v; want %v", took, c.least)
				}
				if n := firsts.Load(); n != 1 {
					t.Errorf("the silent one was dialed %d times", n)
				}
				next[framework.Reconnected](t, client)
				client.Close()
			})
		})
	}
}

// TestBackPressure shows that a full queue stops the reading, not the memory.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 40
		ours, theirs := wire.Pipe(wire.Options{Queue: all + 2})
		tapped := &tap{Link: ours}
		m := frameworktest.Over(t, theirs)
		go m.Register("f1", 1)
		c, err := framework.Connect(context.Background(), framework.Config{
			Masters: []string{"m:1"}, Queue: 8,
			Dial: func(context.Context, string) (wire.Link, error) { return tapped, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			m.Update(offers.Status{Task: offers.TaskID(fmt.Sprint("t", i)), State: offers.Running, UpdateID: "u"})
		}
		time.Sleep(2 * time.Minute) // stalled, which is no silence of the master
		if n := tapped.received.Load(); n > 1+8 {
			t.Errorf("%d frames read with a queue of 8", n)
		}
		for i := range all {
			if u := next[framework.Updated](t, c); u.Status.Task != offers.TaskID(fmt.Sprint("t", i)) {
				t.Fatalf("update %d is of %s", i, u.Status.Task)
			}
		}
		c.Close()
	})
}

type tap struct {
	wire.Link
	received atomic.Int32
}

func (t *tap) Receive() ([]byte, error) {
	f, err := t.Link.Receive()
	t.received.Add(1)
	return f, err
}

func TestTeardown(t *testing.T) {
	for _, answers := range []bool{true, false} {
		master := frameworktest.NewMaster(t)
		c, m := pair(t, master)
		done := make(chan error, 1)
		go func() { done <- c.Teardown(context.Background()) }()
		frameworktest.Expect[*wire.Teardown](m)
		if answers {
			m.Send(&wire.ErrorMessage{Code: offers.FrameworkRemoved, Message: "torn down"}, "teardown")
		} else { // the master just closes, or fails over after the commit
			m.Close()
			m = master.Conn()
			_, request := frameworktest.Expect[*wire.Register](m)
			m.Send(&wire.ErrorMessage{Code: offers.UnknownFramework, Message: "who?"}, request)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
