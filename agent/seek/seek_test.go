package seek

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestWaitStaysShortWhileMastersElect: an agent that waits for seconds after
// the new leader is there keeps its room from everybody.
func TestWaitStaysShortWhileMastersElect(t *testing.T) {
	nobody := errors.New("connection refused")
	electing := fmt.Errorf("reach: %w", &wire.StatusError{Status: 503})
	circle := fmt.Errorf("dial: %w", &wire.RedirectError{Location: "ws://elsewhere"})
	dead := fmt.Errorf("%w (127.0.0.1:5050 %w)", nobody, &wire.RedirectError{Location: "ws://dead"})
	for _, c := range []struct {
		name string
		errs []error
		want time.Duration
	}{
		{"nobody answers", []error{nobody, nobody, nobody, nobody, nobody, nobody, nobody}, lastWait},
		{"electing", []error{electing, electing, electing, electing, electing}, electionWait},
		{"from one to the other", []error{circle, circle, circle, circle}, electionWait},
		{"sent to a dead leader", []error{dead, dead, dead, dead, dead}, electionWait},
		{"one is dead, two elect", []error{nobody, electing, electing, nobody, electing, electing, nobody}, 2 * electionWait},
		{"back after a long silence", []error{nobody, nobody, nobody, nobody, nobody, nobody, nobody, electing}, electionWait},
		{"refused for good", []error{&wire.StatusError{Status: 401}, &wire.StatusError{Status: 401}, &wire.StatusError{Status: 401}, &wire.StatusError{Status: 401}}, 16 * firstWait},
	} {
		wait := firstWait
		for _, err := range c.errs {
			wait = longer(wait, err)
		}
		if wait != c.want {
			t.Errorf("%s: %v; want %v", c.name, wait, c.want)
		}
	}
}

// TestStoppedMasterIsPassedBy: a master that is stopped takes the connection
// and says nothing. The next one is not kept waiting for as long as a handshake
// may take; where nobody answers so soon, as when very many agents come back at
// once, each waits longer the next time.
func TestStoppedMasterIsPassedBy(t *testing.T) {
	open, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var dialled []string
		var at []time.Time
		s := &Seeker{
			Masters: []string{"stopped:1", "slow:1"}, Door: open, Logger: hclog.NewNullLogger(),
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				dialled, at = append(dialled, address), append(at, time.Now())
				if len(dialled) == 5 {
					end()
				}
				near, far := net.Pipe()
				go func() { // it reads, until the agent has gone
					_, _ = io.Copy(io.Discard, far)
				}()
				return near, nil
			},
		}
		s.Run(ctx, func(wire.Link) bool { return true })
		if !slices.Equal(dialled, []string{"stopped:1", "slow:1", "stopped:1", "slow:1", "stopped:1"}) {
			t.Fatalf("dialled %q", dialled)
		}
		for n, patience := range []time.Duration{dialPatience, 2 * dialPatience, longestPatience, longestPatience} {
			if took := at[n+1].Sub(at[n]); took < patience || took > patience+lastWait {
				t.Errorf("try %d ended after %v; its patience is %v", n, took, patience)
			}
		}
	})
}

// TestCallsAreFollowed: who calls is gone to at once, be it from a master that says
// nothing, or from a wait because nobody answered; from that one itself nobody goes.
func TestCallsAreFollowed(t *testing.T) {
	open, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		begin := time.Now()
		var masters, seeking sync.WaitGroup
		var mu sync.Mutex
		came := map[string][]time.Duration{}
		visits := func(master string) []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(came[master])
		}
		s := &Seeker{
			Masters: []string{"first:1"}, Door: open, Logger: hclog.NewNullLogger(), Called: make(chan string, 1),
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if address == "first:1" && len(came[address]) > 0 {
					return nil, errors.New("connection refused")
				}
				came[address] = append(came[address], time.Since(begin))
				near, far := net.Pipe()
				masters.Go(func() { listen(t, far) })
				return near, nil
			},
		}
		seeking.Go(func() {
			s.Run(ctx, func(l wire.Link) bool {
				unlink := context.AfterFunc(ctx, func() { l.Close("the test ends") })
				for err := error(nil); err == nil; {
					_, err = l.Receive()
				}
				if unlink() {
					l.Close("it has ended")
				}
				return true
			})
		})
		time.Sleep(time.Second)
		s.Call("second:1")
		time.Sleep(time.Second)
		s.Call("second:1") // it is there
		time.Sleep(time.Second)
		if got := visits("second:1"); len(got) != 1 || got[0] < time.Second || got[0] > 3*time.Second/2 {
			t.Errorf("who called after 1 s was visited after %v", got)
		}
		s.mu.Lock()
		s.link.End("it dies")
		s.mu.Unlock()
		time.Sleep(time.Minute) // in which the first, the only one that is known, does not answer
		before := time.Since(begin)
		s.Call("third:1")
		time.Sleep(lastWait / 10)
		if got := visits("third:1"); len(got) != 1 || got[0] != before {
			t.Errorf("who called after %v was visited after %v", before, got)
		}
		end()
		seeking.Wait()
		masters.Wait()
	})
}

// TestTheLastCallHolds: who calls does not wait for the seeker.
func TestTheLastCallHolds(t *testing.T) {
	s := &Seeker{Called: make(chan string, 1)}
	s.Call("first:1")
	s.Call("second:1")
	if got := <-s.Called; got != "second:1" {
		t.Errorf("the seeker goes to %s", got)
	}
}

// listen is a master that takes the connection and says nothing.
func listen(t *testing.T, conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	link, err := wire.Upgrade(hijacked{conn: conn}, req, wire.AgentProtocol, wire.Options{Ping: time.Hour})
	if err != nil {
		t.Error(err)
		return
	}
	for err == nil {
		_, err = link.Receive()
	}
	link.Close("it has ended")
}

// hijacked is a response writer whose connection is in memory.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}
