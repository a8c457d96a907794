package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestRegistrationOfManyTasks: it is one message as long as a master receives that, and
// several otherwise, which list every task once and in order.
func TestRegistrationOfManyTasks(t *testing.T) {
	all := make([]wire.AgentTask, wire.MaxListed+10)
	for i := range all {
		all[i] = wire.AgentTask{TaskRef: offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprintf("t%d", i))}, State: offers.Running}
	}
	for _, form := range []wire.Form{wire.JSON, wire.Binary} {
		for _, n := range []int{0, 10, len(all)} {
			frames, err := wire.Registration(form, &wire.RegisterAgent{Agent: offers.Agent{Name: "a"}, Tasks: all[:n], Next: "k"})
			if err != nil {
				t.Fatal(err)
			}
			if one := len(frames) == 1; one != (n < len(all)) {
				t.Fatalf("%v: %d tasks are listed in %d messages", form, n, len(frames))
			}
			var listed []wire.AgentTask
			for i, frame := range frames {
				m, _, err := form.Decode(wire.FromAgent, frame)
				if err != nil || len(frame) > wire.MaxMessage {
					t.Fatalf("%v: a message of %d bytes: %v", form, len(frame), err)
				}
				switch m := m.(type) {
				case *wire.RegisterAgent:
					listed = append(listed, m.Tasks...)
				case *wire.AgentTasks:
					listed = append(listed, m.Tasks...)
					if last := m.Register != nil; last != (i == len(frames)-1) || last && (m.All != n || m.Register.Next != "k") {
						t.Errorf("%v: message %d of %d registers: %v, of %d", form, i+1, len(frames), last, m.All)
					}
				}
			}
			if !slices.EqualFunc(listed, all[:n], func(a, b wire.AgentTask) bool { return a.TaskRef == b.TaskRef }) {
				t.Errorf("%v: of %d tasks %d are listed, or in another order", form, n, len(listed))
			}
		}
	}
}

// TestRegistrationOfLargeTasks: no message is larger than a master receives, however few
// tasks it lists.
func TestRegistrationOfLargeTasks(t *testing.T) {
	all := make([]wire.AgentTask, 1000)
	for i := range all {
		all[i] = wire.AgentTask{TaskRef: offers.TaskRef{Framework: "f", Task: offers.TaskID(fmt.Sprint("t", i))}, LaunchID: offers.LaunchID(strings.Repeat("l", 10_000))}
	}
	for _, form := range []wire.Form{wire.JSON, wire.Binary} {
		frames, err := wire.Registration(form, &wire.RegisterAgent{Agent: offers.Agent{Name: "a"}, Tasks: all})
		if err != nil {
			t.Fatal(err)
		}
		for i, frame := range frames {
			if len(frame) > wire.MaxMessage {
				t.Errorf("%v: message %d of %d has %d bytes", form, i+1, len(frames), len(frame))
			}
		}
	}
}
