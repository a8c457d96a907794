package seek

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
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
