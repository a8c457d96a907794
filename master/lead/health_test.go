package lead

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestOnlyTheNewestHealthWaits: while the head of a task's updates is under
// way, the changes of its health behind it don't pile up, and nothing else is
// dropped or overtaken.
func TestOnlyTheNewestHealthWaits(t *testing.T) {
	d := newDelivery("1")
	ref := offers.TaskRef{Framework: "f", Task: "t"}
	add := func(id string, state offers.State, healthy *bool) {
		d.add(ref, offers.Status{Task: "t", State: state, UpdateID: offers.UpdateID(id), Healthy: healthy}, true)
	}
	yes, no := true, false
	add("run", offers.Running, nil)
	for n := range 100 {
		add(fmt.Sprint("h", n), offers.Running, []*bool{&yes, &no}[n%2])
	}
	add("killing", offers.Killing, nil)
	add("late", offers.Running, &yes)
	add("later", offers.Running, &no)
	add("end", offers.Killed, nil)
	var got []offers.UpdateID
	for _, q := range d.outboxes[ref].queue {
		got = append(got, q.status.UpdateID)
	}
	if fmt.Sprint(got) != "[run h99 killing later end]" {
		t.Errorf("what waits is %v", got)
	}
	if last, known := d.last.of(ref); known {
		t.Errorf("after its end it is known as %+v", last)
	}
}
