package lead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// post keeps what is sent as one line each.
type post struct{ lines []string }

func (p *post) End(string) { p.lines = append(p.lines, "end") }

func (p *post) Send(m wire.Message, _ string) {
	line := m.Type()
	switch m := m.(type) {
	case *wire.Launch:
		for _, t := range m.Tasks {
			line += " " + string(t.Task.ID)
		}
	case *wire.AcknowledgeStatus:
		for _, ref := range m.Acknowledged {
			line += " " + string(ref.UpdateID)
		}
	}
	p.lines = append(p.lines, line)
}

// TestParcel: what a turn says to an agent goes in few messages, in an order
// that the agent can't take wrong.
func TestParcel(t *testing.T) {
	box := &post{}
	p := &parcel{peer: box}
	launch := func(id offers.TaskID) {
		p.launch(7, state.NewTask(&state.TaskRecord{Spec: offers.Task{ID: id}}, nil), 0)
	}
	p.acknowledge(wire.StatusRef{UpdateID: "u1"})
	launch("a")
	p.acknowledge(wire.StatusRef{UpdateID: "u2"})
	launch("b")
	if len(box.lines) > 0 {
		t.Errorf("%q was sent before the turn ended", box.lines)
	}
	p.Send(&wire.KillTask{}, "") // of a or b, perhaps
	launch("c")
	p.End("")
	if got, want := fmt.Sprint(box.lines), "[acknowledge u1 u2 launch a b kill launch c end]"; got != want {
		t.Errorf("%s was sent; want %s", got, want)
	}
}

// TestParcelsAreBounded: however many and large the launches of a turn are,
// each message can be received.
func TestParcelsAreBounded(t *testing.T) {
	large := strings.Repeat("<", 60<<10) // six times as long in JSON
	for name, task := range map[string]offers.Task{
		"many":       {},
		"shells":     {Command: &offers.Command{Shell: large}},
		"labels":     {Labels: map[string]string{"l": large}},
		"containers": {Container: &offers.Container{Image: large}},
		"artifacts":  {Artifacts: []offers.Artifact{{URI: large}}},
	} {
		box := &scales{t: t}
		p := &parcel{peer: box}
		for i := range 1000 {
			task.ID = offers.TaskID(fmt.Sprint("t", i))
			p.launch(1, state.NewTask(&state.TaskRecord{Spec: task}, nil), 999-i)
			if most := 1 + parcelWeight/len(large); name != "many" && cap(p.launched) > most {
				t.Fatalf("%s: a message has room for %d launches; %d fit", name, cap(p.launched), most)
			}
			p.acknowledge(wire.StatusRef{UpdateID: "u"})
		}
		p.flush()
		if box.launched != 1000 || box.acknowledged != 1000 {
			t.Errorf("%s: %d of 1000 launches were sent, %d acknowledgements", name, box.launched, box.acknowledged)
		}
	}
}

// scales weighs what is sent.
type scales struct {
	t                      *testing.T
	launched, acknowledged int
}

func (s *scales) End(string) {}

func (s *scales) Send(m wire.Message, _ string) {
	frame, err := wire.Encode(m, "")
	if err != nil || len(frame) > wire.MaxMessage {
		s.t.Errorf("a %s of %d bytes, %v", m.Type(), len(frame), err)
	}
	switch m := m.(type) {
	case *wire.Launch:
		s.launched += len(m.Tasks)
	case *wire.AcknowledgeStatus:
		s.acknowledged += len(m.Acknowledged)
	}
}
