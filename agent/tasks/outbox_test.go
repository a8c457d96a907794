package tasks

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// outbox is a model of what the machine has to report, told from what it sends
// alone: for each task a line of updates that wait for their acknowledgement,
// and when they are to be sent again.
type outbox struct {
	listening bool
	lines     map[offers.TaskRef]*line
	used      map[wire.StatusRef]bool   // was sent once, so it is nothing new
	ends      map[wire.StatusRef]bool   // was a terminal status
	passing   map[wire.StatusRef]string // the condition of a running task that it tells: a later one of the same takes its place
	orphans   map[offers.TaskRef]bool   // must never be heard of
	whole     map[offers.TaskRef]bool   // all of the line is to be sent in this step
}

type line struct {
	waits []offers.UpdateID
	pause time.Duration
	due   time.Time // zero: nothing is sent again
}

func newOutbox() outbox {
	return outbox{
		lines: map[offers.TaskRef]*line{}, used: map[wire.StatusRef]bool{}, ends: map[wire.StatusRef]bool{}, passing: map[wire.StatusRef]string{},
		orphans: map[offers.TaskRef]bool{}, whole: map[offers.TaskRef]bool{},
	}
}

// anew has a line sent whole, and again half a minute later.
func (o *outbox) anew(ref offers.TaskRef, now time.Time) {
	if l := o.lines[ref]; o.listening && l != nil && len(l.waits) > 0 {
		o.whole[ref] = true
		l.pause, l.due = 30*time.Second, now.Add(30*time.Second)
	}
}

func (o *outbox) registered(now time.Time) {
	o.listening = true
	for ref := range o.lines {
		o.anew(ref, now)
	}
}

// again is a launch of a task that is known.
func (o *outbox) again(ref offers.TaskRef, now time.Time) { o.anew(ref, now) }

func (o *outbox) silence() {
	o.listening = false
	clear(o.whole)
	for _, l := range o.lines {
		l.due = time.Time{}
	}
}

func (o *outbox) disowned(ref offers.TaskRef) {
	delete(o.lines, ref)
	o.orphans[ref] = true
}

func (o *outbox) removed(t *rapid.T, ref offers.TaskRef) {
	if l := o.lines[ref]; l != nil {
		t.Fatalf("%s was forgotten, its end is not acknowledged: %v", ref, l.waits)
	}
	delete(o.orphans, ref)
	delete(o.whole, ref)
}

// restarted takes over what is on the disk, of which some may have been
// acknowledged and some never sent.
func (o *outbox) restarted(disk map[offers.TaskRef]Known) {
	o.listening = false
	clear(o.whole)
	clear(o.lines)
	clear(o.orphans)
	for ref, k := range disk {
		if k.Progress.Orphan {
			o.orphans[ref] = true
			continue
		}
		l := &line{}
		for _, r := range k.Progress.Reports {
			l.waits = append(l.waits, r.ID)
			at := wire.StatusRef{TaskRef: ref, UpdateID: r.ID}
			o.used[at], o.ends[at], o.passing[at] = true, r.State.Terminal(), offers.Passing(r.State, r.Reason, r.Healthy)
		}
		o.lines[ref] = l
	}
}

// forgotten is the return to an older copy, which reports some things again
// under the names that they had.
func (o *outbox) forgotten() {
	clear(o.used)
	clear(o.ends)
}

func (o *outbox) tick(now time.Time) {
	for ref, l := range o.lines {
		if !l.due.IsZero() && !l.due.After(now) {
			o.whole[ref] = true
			l.pause = min(2*l.pause, time.Minute)
			l.due = now.Add(l.pause)
		}
	}
}

func (o *outbox) acknowledged(ack wire.StatusRef, now time.Time) {
	l := o.lines[ack.TaskRef]
	if l == nil {
		return
	}
	at := slices.Index(l.waits, ack.UpdateID)
	switch {
	case at < 0:
	case o.ends[ack]:
		delete(o.lines, ack.TaskRef)
	default:
		l.waits = slices.Delete(l.waits, at, at+1)
		l.due = time.Time{}
		if len(l.waits) > 0 && o.listening {
			l.pause, l.due = 30*time.Second, now.Add(30*time.Second)
		}
	}
}

// sent holds what was sent in a step against what had to be: the whole line
// where it is due, and behind it whatever is new.
func (o *outbox) sent(t *rapid.T, statuses []wire.TaskStatus, now time.Time) {
	got := map[offers.TaskRef][]offers.UpdateID{}
	for _, s := range statuses {
		ref := offers.TaskRef{Framework: s.Framework, Task: s.Task}
		got[ref] = append(got[ref], s.UpdateID)
		at := wire.StatusRef{TaskRef: ref, UpdateID: s.UpdateID}
		o.ends[at], o.passing[at] = s.State.Terminal(), offers.Passing(s.State, s.Reason, s.Healthy)
	}
	for ref, ids := range got {
		if o.orphans[ref] || !o.listening {
			t.Fatalf("%s: %v was sent, and nobody is to hear of it", ref, ids)
		}
		l := o.lines[ref]
		if l == nil {
			l = &line{}
			o.lines[ref] = l
		}
		if o.whole[ref] {
			for at := len(l.waits) - 1; at >= 0 && o.says(ref, l.waits[at]) != ""; at-- {
				old := l.waits[at]
				later := slices.ContainsFunc(ids, func(id offers.UpdateID) bool { return id != old && o.says(ref, id) == o.says(ref, old) })
				if later && !slices.Contains(ids, old) { // which has taken its place while nobody listened
					l.waits = slices.Delete(l.waits, at, at+1)
				}
			}
			if len(ids) < len(l.waits) || !slices.Equal(ids[:len(l.waits)], l.waits) {
				t.Fatalf("%s: %v was sent, %v waits and is due", ref, ids, l.waits)
			}
			ids = ids[len(l.waits):]
			delete(o.whole, ref)
		}
		for _, id := range ids {
			at := wire.StatusRef{TaskRef: ref, UpdateID: id}
			if o.used[at] {
				t.Fatalf("%s: %s was sent again, out of its time or behind a later one", ref, id)
			}
			o.used[at] = true
			for n := len(l.waits) - 1; o.passing[at] != "" && n >= 0 && o.says(ref, l.waits[n]) != ""; n-- {
				if o.says(ref, l.waits[n]) == o.passing[at] {
					l.waits = slices.Delete(l.waits, n, n+1)
				}
			}
			l.waits = append(l.waits, id)
		}
		if len(ids) > 0 && l.due.IsZero() {
			l.pause, l.due = 30*time.Second, now.Add(30*time.Second)
		}
	}
}

// says returns the condition that an update tells, if it tells nothing else.
func (o *outbox) says(ref offers.TaskRef, id offers.UpdateID) string {
	return o.passing[wire.StatusRef{TaskRef: ref, UpdateID: id}]
}

// allSent verifies that nothing that was due is missing.
func (o *outbox) allSent(t *rapid.T) {
	for ref := range o.whole {
		t.Fatalf("%s: %v was due and not sent", ref, o.lines[ref].waits)
	}
}

// written verifies that exactly what waits would be known after a crash.
func (o *outbox) written(t *rapid.T, disk map[offers.TaskRef]Known) {
	for ref, k := range disk {
		if l := o.lines[ref]; o.listening && l != nil {
			if !slices.EqualFunc(k.Progress.Reports, l.waits, func(r Report, id offers.UpdateID) bool { return r.ID == id }) {
				t.Fatalf("%s: %v waits, on disk is %+v", ref, l.waits, k.Progress.Reports)
			}
		}
	}
}

// earliest is when something is to be sent again.
func (o *outbox) earliest() (due time.Time, waits bool) {
	for _, l := range o.lines {
		if !l.due.IsZero() && (!waits || l.due.Before(due)) {
			due, waits = l.due, true
		}
	}
	return due, waits
}
