package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// act is the author's own will.
func (f *framework) act() {
	w := f.w
	switch n := w.rng.IntN(100); {
	case n < 35:
		f.wish()
	case n < 50:
		if id, ok := f.living(); ok {
			var grace *offers.Duration
			if w.chance(0.5) {
				d := offers.Duration(w.between(0, 3*time.Second))
				grace = &d
			}
			w.tell(f.name, "kills %s", id)
			f.kill(id, grace)
		}
	case n < 56:
		if !f.trusts {
			f.reconcile()
		}
	case n < 58:
		if !f.trusts {
			f.ask()
		}
	case n < 60:
		f.session.Suppress()
	case n < 66:
		f.session.Revive()
	case n < 75:
		f.shop()
	}
}

// living picks a task that the author knows no end of.
func (f *framework) living() (offers.TaskID, bool) {
	var open []offers.TaskID
	for _, id := range f.notes.order {
		if f.notes.tasks[id].end == "" {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return "", false
	}
	return pick(f.w, open), true
}

// wish states or replaces a demand.
func (f *framework) wish() {
	w := f.w
	d := offers.Demand{ID: offers.DemandID(fmt.Sprintf("d%d", w.rng.IntN(3)))}
	d.Resources.Amounts[offers.CPUs] = int64(100 * (1 + w.rng.IntN(12)))
	d.Resources.Amounts[offers.Mem] = int64(w.rng.IntN(2<<10)) << 20
	if w.chance(0.25) {
		ask := offers.DeviceAsk{Count: 1}
		if w.chance(0.6) {
			ask.Memory = int64(1+w.rng.IntN(12)) << 30
		}
		d.Resources.Devices = map[string]offers.DeviceAsk{"gpu": ask}
	}
	if w.chance(0.8) {
		n := 1 + w.rng.IntN(6)
		d.Count = &n
	}
	if err := f.session.Demand(d); err != nil {
		w.broken("%s may not state the demand %+v: %v", f.name, d, err)
	}
}

// offered decides about one offer.
func (f *framework) offered(o wire.Offer) {
	w := f.w
	run := f.session
	decide := func() {
		if f.session != run {
			return
		}
		switch {
		case w.healed || w.chance(0.15):
			refuse := offers.Duration(w.calmly(w.between(0, 3*time.Second)))
			f.session.Decline([]offers.OfferID{o.ID}, &refuse)
		case w.chance(0.05): // it may expire
		default:
			f.accept(o)
		}
		f.flush()
	}
	if w.chance(0.7) {
		f.after(0, decide)
	} else {
		f.after(w.spread(time.Millisecond, 10*time.Second), decide)
	}
}

// accept launches a few tasks in an offer.
func (f *framework) accept(o wire.Offer) {
	w := f.w
	n := 1 + w.rng.IntN(3)
	var list []offers.Task
	for range n {
		t := offers.Task{ID: f.taskID(), Command: &offers.Command{Argv: []string{"work"}}}
		if slices.ContainsFunc(list, func(o offers.Task) bool { return o.ID == t.ID }) {
			continue
		}
		t.Resources.Amounts[offers.CPUs] = o.Resources.Amounts[offers.CPUs] / int64(n)
		t.Resources.Amounts[offers.Mem] = o.Resources.Amounts[offers.Mem] / int64(n+w.rng.IntN(2))
		if d := o.Resources.Devices["gpu"]; len(list) == 0 && (len(d.IDs) > 0 || d.Count > 0) && w.chance(0.7) {
			ask := offers.DeviceAsk{Count: 1}
			if d.Memory > 0 {
				ask.Memory = d.Memory
			} else if len(d.Free) > 0 {
				ask.Memory = max(1, d.Free[0]/2)
			}
			t.Resources.Devices = map[string]offers.DeviceAsk{"gpu": ask}
		}
		if w.chance(0.1) {
			t.MaxRuntime = offers.Duration(w.between(time.Second, 10*time.Second))
		}
		list = append(list, t)
	}
	before := make([]noted, len(list))
	for i := range list {
		before[i] = f.note(list[i].ID)
	}
	if err := f.session.Accept([]offers.OfferID{o.ID}, list, nil); err != nil {
		for i := range list {
			*f.notes.tasks[list[i].ID] = before[i]
		}
		w.tell(f.name, "may not accept: %v", err)
		return
	}
	for i := range list {
		delete(f.told, list[i].ID)
	}
	w.tell(f.name, "accepts %s for %d tasks from %s", o.ID, len(list), list[0].ID)
}

// taskID names the next task: mostly a new one, sometimes one that has ended.
func (f *framework) taskID() offers.TaskID {
	n := f.notes
	if len(n.order) > 0 && f.w.chance(0.1) {
		if old := n.tasks[pick(f.w, n.order)]; old.handled && old.rounds > 0 {
			return old.id
		}
	}
	n.made++
	return offers.TaskID(fmt.Sprintf("t%d", n.made))
}

// note enters a launch and returns what was known before.
func (f *framework) note(id offers.TaskID) noted {
	n := f.notes
	t := n.tasks[id]
	if t == nil {
		// Never launched is as good as dropped, should it come to nothing.
		t = &noted{id: id, end: offers.Dropped}
		n.tasks[id] = t
		n.order = append(n.order, id)
	}
	before := *t
	*t = noted{id: id, by: f, rounds: t.rounds + 1}
	return before
}

// updated reads a status; it is acknowledged when the author has done so.
func (f *framework) updated(u session.Updated) {
	f.w.tell(f.name, "sees %s %s (%s) %s", u.Status.Task, u.Status.State, u.Status.UpdateID, u.Status.Reason)
	f.w.judge.seen(f, u.Status)
	run := f.session
	handle := func() {
		if f.session != run {
			return
		}
		f.w.judge.handled(f, u.Status)
		f.session.Handled(u)
		f.flush()
	}
	if f.w.chance(0.5) {
		f.after(0, handle)
	} else {
		f.after(f.w.spread(time.Millisecond, 2*time.Second), handle)
	}
}
