package seek

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

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
// and says nothing. The next one is not kept waiting for as long as a
// handshake may take.
func TestStoppedMasterIsPassedBy(t *testing.T) {
	t.Parallel()
	stopped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	open, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Seeker{Door: open}
	began := time.Now()
	_, err = s.reach(t.Context(), stopped.Addr().String())
	var late net.Error
	if took := time.Since(began); !errors.As(err, &late) || !late.Timeout() || took > 2*dialPatience {
		t.Errorf("after %v: %v", took, err)
	}
}
