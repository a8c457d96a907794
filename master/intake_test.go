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
	const each, small = 5, largeFrame * 3 / 4
	for _, is := range []struct{ sessions, size, most int }{
		{20, 1 << 20, int(largeAtOnce())},
		{intakeSize / small, small, intakeSize / small},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld(t)
			for range is.sessions {
				defer h.says(h.inbox, "one", is.size, 1, each).Close("done")
			}
			synctest.Wait()
			if n := len(h.inbox.inputs); n > is.most || n < is.most*99/100 {
				t.Errorf("%d messages of %d bytes wait in the inbox; want %d, or a few less for what they have beside that", n, is.size, is.most)
			}
			for h.next() {
			}
			if n := len(h.handled); n != is.sessions*each {
				t.Errorf("%d messages were handled; want all %d", n, is.sessions*each)
			}
			h.stop()
		})
	}
}

// TestWhoSaysLittleIsHeard beside those that say more than can be served, be it in
// large frames or in many.
func TestWhoSaysLittleIsHeard(t *testing.T) {
	const greedy, many = 10, largeFrame * 3 / 4
	for size, most := range map[int]int{1 << 20: int(largeAtOnce()), many: greedy * ownSize / many} {
		synctest.Test(t, func(t *testing.T) {
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
				if ahead > most {
					t.Errorf("%d messages of %d bytes came before its message %d; want %d at most", ahead, size, n, most)
				}
			}
			h.stop()
		})
	}
}

// TestLargeFramesComeInTurns: of those that say much nobody is ahead of the others.
func TestLargeFramesComeInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 8
		h := newHeld(t)
		names := []string{"a", "b", "c"}
		for _, who := range names {
			defer h.says(h.inbox, who, 1<<20, 1, each).Close("done")
		}
		heard := map[string]int{}
		for h.next() {
			heard[h.handled[len(h.handled)-1]]++
			least := min(heard["a"], heard["b"], heard["c"])
			if lead := max(heard["a"], heard["b"], heard["c"]) - least; lead > int(largeAtOnce())+1 {
				t.Fatalf("heard were %v", heard)
			}
		}
		if len(h.handled) != each*len(names) {
			t.Errorf("heard were %v; want %d of each", heard, each)
		}
		h.stop()
	})
}

// TestFewCharactersThatTakeMuchAreLarge: in JSON, where each can be a struct.
func TestFewCharactersThatTakeMuchAreLarge(t *testing.T) {
	list := []byte(`{"type":"statuses","statuses":[{}` + strings.Repeat(",{}", 1000) + `]}`)
	text := []byte(`{"type":"statuses","statuses":[{"message":"` + strings.Repeat("x", 3000) + `"}]}`)
	for _, is := range []struct {
		form  wire.Form
		frame []byte
		large bool
	}{{wire.JSON, list, true}, {wire.JSON, text, false}, {wire.JSON, bytes.Repeat(text, 11), true}, {wire.Binary, list, false}} {
		if n := weightOf(is.form, is.frame); n > largeFrame != is.large || n < int64(len(is.frame)) {
			t.Errorf("%d bytes of %s weigh %d: %.50s", len(is.frame), is.form, n, is.frame)
		}
	}
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
			if free := h.inbox.large.TryAcquire(largeAtOnce()); free != (want == 2*gatherings) {
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
