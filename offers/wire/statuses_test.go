package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestStatusesInMessages: however many there are, and whatever they say within its
// bounds, all of them come in order, in messages that are received.
func TestStatusesInMessages(t *testing.T) {
	var devices []offers.Grant
	for i := range 64 {
		devices = append(devices, offers.Grant{ID: strings.Repeat("d", 64), Index: i, Memory: 80 << 30})
	}
	for what, row := range map[string]struct {
		says offers.Status
		most int // messages
	}{
		"little":  {offers.Status{State: offers.Running}, 2},
		"much":    {offers.Status{State: offers.Failed, Message: strings.Repeat("<", offers.MaxStatusMessage)}, 14},
		"devices": {offers.Status{State: offers.Running, Devices: map[string][]offers.Grant{"gpu": devices}}, 22},
	} {
		all := make([]wire.TaskStatus, 1100)
		for i := range all {
			all[i] = wire.TaskStatus{Framework: "f00001-3f9c", LaunchID: "2-1", Status: row.says}
			all[i].Task = offers.TaskID(fmt.Sprint("t", i))
		}
		came, messages := 0, 0
		for m := range wire.InMessages(all) {
			messages++
			for _, form := range []wire.Form{wire.JSON, wire.Binary} {
				if frame, err := form.Encode(m, ""); err != nil || len(frame) > wire.MaxMessage {
					t.Fatalf("%s: %d statuses have %d bytes in %s form: %v", what, len(m.Statuses), len(frame), form, err)
				}
			}
			for _, s := range m.Statuses {
				if s.Task != all[came].Task {
					t.Fatalf("%s: %s comes where %s should", what, s.Task, all[came].Task)
				}
				came++
			}
		}
		if came != len(all) || messages > row.most {
			t.Errorf("%s: %d of %d came, in %d messages, want %d at most", what, came, len(all), messages, row.most)
		}
	}
	for range wire.InMessages(nil) {
		t.Error("nothing makes a message")
	}
}
