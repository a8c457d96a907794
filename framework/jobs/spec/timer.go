package spec

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for hosts that have no database of time zones

	"github.com/robfig/cron/v3"
)

// Timer says when a job runs again.
type Timer struct {
	Schedule string `json:"schedule" doc:"minute, hour, day of the month, month and day of the week, such as 30 2 * * mon-fri; or @hourly, @daily, @weekly, @monthly, @every 90s"`
	Zone     string `json:"zone,omitempty" doc:"time zone such as Europe/Berlin; an hour that a change of clocks leaves out has no runs, and those of a named hour that it repeats come once" default:"UTC"`
	Overlap  string `json:"overlap,omitempty" doc:"when it is time and a run goes on: skip the new one, allow both, or replace the old one" enum:"skip,allow,replace" default:"skip"`
	Missed   string `json:"missed,omitempty" doc:"runs for which nobody was there in time: skip them, or run one for all of them" enum:"skip,one" default:"skip"`
}

func (t *Timer) parsed() (cron.Schedule, *time.Location, error) {
	zone, err := time.LoadLocation(t.Zone)
	if err != nil || t.Zone == "Local" {
		return nil, nil, &Error{Path: "cron.zone", Message: fmt.Sprintf("%.60q is no time zone such as Europe/Berlin", t.Zone)}
	}
	if strings.Contains(t.Schedule, "TZ=") {
		return nil, nil, &Error{Path: "cron.schedule", Message: "the time zone is given as zone"}
	}
	schedule, err := cron.ParseStandard(t.Schedule)
	if err != nil {
		return nil, nil, &Error{Path: "cron.schedule", Message: fmt.Sprintf("%.80q can't be read: %v", t.Schedule, err)}
	}
	return schedule, zone, nil
}

// Next returns the first time after another that the schedule names, in UTC;
// zero for never. The timer is valid.
func (t *Timer) Next(after time.Time) time.Time {
	schedule, zone, err := t.parsed()
	if err != nil {
		return time.Time{}
	}
	next := schedule.Next(after.In(zone))
	for fixedHour(schedule) && repeated(next) {
		next = schedule.Next(next)
	}
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// fixedHour reports whether a schedule names hours, so that its runs belong to
// the clock on the wall and not to the time that passes.
func fixedHour(s cron.Schedule) bool {
	spec, ok := s.(*cron.SpecSchedule)
	const any = 1 << 63 // set where the field is *
	return ok && spec.Hour&any == 0
}

// repeated reports whether clocks that were turned back show t a second time.
func repeated(t time.Time) bool {
	_, now := t.Zone()
	_, before := t.Add(-3 * time.Hour).Zone()
	back := time.Duration(before-now) * time.Second
	const wall = "2006-01-02 15:04:05"
	return back > 0 && t.Add(-back).Format(wall) == t.Format(wall)
}

func (j *Job) validateTimer() error {
	if j.Kind() != Cron {
		if j.Cron != nil {
			return &Error{Path: "cron", Message: fmt.Sprintf("it goes with type: cron, and this is a %s", j.Kind())}
		}
		return nil
	}
	if j.Cron == nil {
		return &Error{Path: "cron", Message: "it is missing: a job of this type has a schedule"}
	}
	if _, _, err := j.Cron.parsed(); err != nil {
		return err
	}
	if j.Cron.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return &Error{Path: "cron.schedule", Message: fmt.Sprintf("%.80q never comes", j.Cron.Schedule)}
	}
	if err := oneOf("cron.overlap", j.Cron.Overlap, "", "skip", "allow", "replace"); err != nil {
		return err
	}
	return oneOf("cron.missed", j.Cron.Missed, "", "skip", "one")
}
