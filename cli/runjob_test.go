package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// TestWhyARunWaitsIsSaidOnce: after the reason that no agent there is will do,
// nothing is said of the room that none has.
func TestWhyARunWaitsIsSaidOnce(t *testing.T) {
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		r := &running{job: &job{count: 2}, client: openClient([]string{"127.0.0.1:1"}, d), out: &console{err: &said}}
		r.waiting.Store(2)
		quiet := r.notice(t.Context())
		r.hopeless(framework.Waits{Why: "no agent that is known has 100 cpus"})
		time.Sleep(2 * waitNotice)
		quiet()
		if want := "ringmaster: 2 tasks wait for an agent that is not there: no agent that is known has 100 cpus\n"; said.String() != want {
			t.Errorf("said is %q, want %q", &said, want)
		}
	})
}
