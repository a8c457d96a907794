package faults

import (
	"maps"
	"slices"
	"time"
)

// clone returns a copy that does not change with the disk.
func (d disk) clone() disk {
	d.launches, d.progress = maps.Clone(d.launches), maps.Clone(d.progress)
	return d
}

// keepCopy takes a copy of the disk, mostly of one that will be missed: with
// launches that have not started.
func (a *agent) keepCopy() {
	const most = 8
	if !a.w.chance(0.1) {
		return
	}
	a.copies = append(a.copies, a.disk.clone())
	if len(a.copies) > most {
		a.copies = slices.Delete(a.copies, 0, 1)
	}
}

// open is what the checkpoint does before the agent believes it.
func (a *agent) open() {
	switch {
	case a.disk.epoch == 0:
	case a.witness == nil:
		a.disk.meta.Doubt = "nothing speaks for it"
	case *a.witness > a.disk.epoch:
		a.disk.meta.Doubt = "it is an older copy"
		a.disk.epoch = *a.witness
	}
	a.disk.epoch++
	now := a.disk.epoch
	a.witness = &now
}

// olderCopy kills the agent and brings it back on a copy of its checkpoint: of
// the file alone or of its whole folder, with or without a witness. A witness
// that lies leaves only the masters to notice, and they can where they have
// confirmed a token since that the copy does not know.
func (w *world) olderCopy() bool {
	a := pick(w, w.agents)
	if !a.up || len(a.copies) == 0 {
		return false
	}
	n := w.rng.IntN(len(a.copies))
	c := a.copies[n].clone()
	how := pick(w, []string{"file", "file", "folder", "folder", "no witness", "a witness that lies"})
	if how == "a witness that lies" && (a.disk.known == "" || a.disk.known == c.meta.Have || a.disk.known == c.meta.Next) {
		return false
	}
	a.copies = a.copies[:n+1] // the others are of a past that never was
	w.tell(a.name, "is killed and comes back on a copy from %d changes ago (%s)", a.disk.epoch-c.epoch, how)
	a.stop()
	// The copy has forgotten terms, too; what keeps orders of older connections
	// away from it is that a new run hears none.
	a.disk, a.stray = c, nil
	switch how {
	case "folder":
		for _, p := range a.procs {
			p.bare = true
		}
	case "no witness":
		a.witness = nil
	case "a witness that lies":
		*a.witness = c.epoch
	}
	w.after(w.spread(50*time.Millisecond, time.Minute), a.boot)
	return true
}
