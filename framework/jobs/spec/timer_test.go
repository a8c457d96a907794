package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

// TestTimerOverChangesOfClocks holds what is said of time zones: an hour that
// is left out has no runs, those of a named hour that is repeated come once.
func TestTimerOverChangesOfClocks(t *testing.T) {
	for _, c := range []struct{ schedule, zone, from, want string }{
		{"30 2 * * *", "", "2026-03-28T00:00:00Z", "03-28T02:30 03-29T02:30 03-30T02:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "03-28T01:30 03-30T00:30 03-31T00:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", "10-24T00:30 10-25T00:30 10-26T01:30"},
		{"30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", "10-25T00:30 10-25T01:30 10-25T02:30"},
		{"0 9 * * mon-fri", "America/New_York", "2026-11-20T20:00:00Z", "11-23T14:00 11-24T14:00 11-25T14:00"},
		{"@every 90s", "", "2026-01-01T00:00:00Z", "01-01T00:01 01-01T00:03 01-01T00:04"},
		{"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "02-29T00:00 02-29T00:00 02-29T00:00"},
	} {
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		timer := spec.Timer{Schedule: c.schedule, Zone: c.zone}
		var got []string
		for range 3 {
			at = timer.Next(at)
			got = append(got, at.Format("01-02T15:04"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %s, want %s", c.schedule, c.zone, strings.Join(got, " "), c.want)
		}
	}
}
