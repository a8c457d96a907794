package master

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/meter"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// held is a loop that comes to nothing by itself, and what its sessions had it do.
type held struct {
	*loop
	t       *testing.T
	handled []string // by whom
}

func newHeld(t *testing.T) *held {
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &held{loop: newLoop(loopConfig{door: d, meters: newMeters(new(meter.List))}, nil, hclog.NewNullLogger()), t: t}
}

// says has somebody say in an intake a message of so many bytes, so many in one frame, and so
// many frames.
func (h *held) says(in *intake, who string, size, together, times int) (theirs wire.Link) {
	theirs, ours := wire.Pipe(wire.Options{Compact: true, Bytes: 1 << 30})
	s := &session{loop: h.loop, intake: in, own: newOwn(), link: ours, prefix: door.Agent}
	go s.read(wire.FromAgent, func(wire.Message, string) bool {
		return s.gather(func(*lead.Core) { h.handled = append(h.handled, who) })
	})
	one, err := wire.Binary.Encode(&wire.RegisterAgent{Agent: offers.Agent{Name: strings.Repeat("x", size)}}, "")
	if err != nil {
		h.t.Fatal(err)
	}
	frame := bytes.Repeat(one, together)
	for range times {
		if err := theirs.Send(frame); err != nil {
			h.t.Error(err)
		}
	}
	return theirs
}

// next does what was said first, and reports whether there was anything.
func (h *held) next() bool {
	synctest.Wait()
	select {
	case in := <-h.inbox.inputs:
		in(new(lead.Core))
		return true
	default:
		return false
	}
}

// TestWhatWaitsIsBounded: however many say however much while the loop is held up,
// what was taken off their connections takes little memory, and nothing is lost.
func TestWhatWaitsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions, each, size = 20, 3, 1 << 20
		h := newHeld(t)
		for range sessions {
			defer h.says(h.inbox, "one", size, 1, each).Close("done")
		}
		synctest.Wait()
		if n := len(h.inbox.inputs); n != intakeSize/size-1 {
			t.Errorf("%d messages of 1 MiB wait in the inbox; want %d, which have little more than that beside them", n, intakeSize/size-1)
		}
		for h.next() {
		}
		if n := len(h.handled); n != sessions*each {
			t.Errorf("%d messages were handled; want all %d", n, sessions*each)
		}
		h.stop()
	})
}

// TestWhoSaysLittleIsHeard beside those that say more than can be served.
func TestWhoSaysLittleIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const greedy, size = 10, ownSize
		h := newHeld(t)
		for range greedy {
			defer h.says(h.inbox, "greedy", size, 1, 8).Close("done")
		}
		synctest.Wait()
		defer h.says(h.inbox, "modest", 10, 1, 3).Close("done")
		for n := 1; n <= 3; n++ {
			ahead := 0
			for h.next() && h.handled[len(h.handled)-1] != "modest" {
				ahead++
			}
			if most := 2 * greedy; ahead > most {
				t.Errorf("%d messages came before its message %d; want %d at most", ahead, n, most)
			}
		}
		h.stop()
	})
}

// TestAFrameOfManyMessagesCountsUntilItsEnd, of however many inputs it becomes.
func TestAFrameOfManyMessagesCountsUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		defer h.says(h.inbox, "one", 10, 2*gatherings, 1).Close("done")
		for want := gatherings; h.next(); want += gatherings {
			if len(h.handled) != want {
				t.Errorf("%d messages are handled; want %d", len(h.handled), want)
			}
			if free := h.inbox.room.TryAcquire(intakeSize); free != (want == 2*gatherings) {
				t.Errorf("after %d messages nothing waits: %v", want, free)
			}
		}
		h.stop()
	})
}

// TestFrameworksAreHeardBesideManyAgents, each of which has as much to say.
func TestFrameworksAreHeardBesideManyAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(t)
		h.core = new(lead.Core)
		for range 100 {
			defer h.says(h.inbox, "agent", 10, 1, turnSize/2).Close("done")
		}
		defer h.says(h.asked, "framework", 10, 1, turnSize).Close("done")
		synctest.Wait()
		h.drain()
		told := map[string]int{}
		for _, who := range h.handled {
			told[who]++
		}
		if n := told["framework"]; told["agent"]+n != turnSize || n < turnSize/3 || n > turnSize*2/3 {
			t.Errorf("of the %d inputs of a turn were %v; want about half of each", turnSize, told)
		}
		h.stop()
	})
}
