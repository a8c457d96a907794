package faults

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

func compare[T cmp.Ordered](a, b T) int { return cmp.Compare(a, b) }

// prepare starts a task's shim, which waits at its gate.
func (a *agent) prepare(l tasks.Launch) {
	ref := l.Ref()
	a.after(a.w.spread(time.Millisecond, 2*time.Second), func() {
		if a.w.chance(0.02) {
			a.finish(ref, tasks.How{Failed: "the sandbox can't be made"})
			return
		}
		a.pids++
		p := &proc{launch: l, id: record.Identity{PID: a.pids, Start: uint64(a.w.now), Boot: a.bootID()}}
		a.procs[ref] = p
		a.machine.Prepared(ref, p.id, a.time())
		a.act()
	})
}

// abandon closes a gate for good.
func (a *agent) abandon(ref offers.TaskRef) {
	if p := a.procs[ref]; p != nil && !p.open {
		a.exits(ref, p, record.Exit{Never: true}, a.w.between(0, 20*time.Millisecond))
	}
}

// release opens a gate: the task runs.
func (a *agent) release(ref offers.TaskRef) {
	p := a.procs[ref]
	if p == nil || p.open || p.exited {
		return
	}
	p.open = true
	a.w.report.Started++
	a.w.tell(a.name, "%s runs", ref)
	a.w.judge.started(a, p)
	a.after(a.w.between(0, 20*time.Millisecond), func() {
		if a.procs[ref] == p && !p.exited && !p.lost {
			a.machine.Started(ref, a.time())
			a.act()
		}
	})
	code := 0
	if a.w.chance(0.2) {
		code = 3
	}
	a.exits(ref, p, record.Exit{Code: code}, a.w.calmly(a.w.spread(20*time.Millisecond, time.Minute)))
}

// signal asks or forces a process to end; some don't listen.
func (a *agent) signal(s tasks.Signal) {
	p := a.procs[s.Ref]
	switch {
	case p == nil || !p.open:
	case s.Force:
		a.exits(s.Ref, p, record.Exit{Signal: "SIGKILL"}, a.w.between(0, 50*time.Millisecond))
	case !p.stopped && a.w.chance(0.8):
		p.stopped = true
		a.exits(s.Ref, p, record.Exit{Signal: "SIGTERM"}, a.w.spread(time.Millisecond, 4*time.Second))
	}
}

// exits makes a process end after d, unless something else ends it before. Its
// record stays for an agent that comes later.
func (a *agent) exits(ref offers.TaskRef, p *proc, exit record.Exit, d time.Duration) {
	a.w.after(d, func() {
		if a.procs[ref] != p || p.exited || p.lost {
			return
		}
		p.exited, p.exit = true, exit
		p.exit.Time = a.time().UTC()
		a.w.judge.exited(a, ref, p.exit)
		a.noticed(ref, p)
	})
}

// noticed tells the agent that a process has ended, if one waits for it.
func (a *agent) noticed(ref offers.TaskRef, p *proc) {
	a.after(a.w.between(0, 10*time.Millisecond), func() { a.finish(ref, p.how()) })
}

func (a *agent) finish(ref offers.TaskRef, how tasks.How) {
	if how.Exit.Signal != "" {
		a.w.tell(a.name, "the process of %s was ended by %s", ref, how.Exit.Signal)
	} else {
		a.w.tell(a.name, "the process of %s has ended (code %d, never ran %v, lost %v, rebooted %v)", ref, how.Exit.Code, how.Never, how.Lost, how.Rebooted)
	}
	if how.Never {
		delete(a.procs, ref)
	}
	a.machine.Ended(ref, how, a.time())
	a.act()
}

// shimDies kills the shim of a running task, and the task with it.
func (a *agent) shimDies(ref offers.TaskRef) {
	p := a.procs[ref]
	if p == nil || !p.open || p.exited || p.lost {
		return
	}
	p.lost = true
	a.noticed(ref, p)
}

// reboot ends everything on the host, without a word to anybody. With wiped
// the agent's folder is gone too.
func (a *agent) reboot(down time.Duration, wiped bool) {
	if !a.up {
		return
	}
	a.w.tell(a.name, "its host restarts, back in %s, wiped %v", down, wiped)
	for _, e := range slices.Clone(a.ends) {
		e.vanish()
	}
	a.stop()
	a.boots++
	clear(a.procs)
	a.witness = nil
	if wiped {
		a.disk, a.stray, a.copies = newDisk(), nil, nil
	}
	a.w.after(down, a.boot)
}

// running returns what runs on the host.
func (a *agent) running() []offers.TaskRef {
	var refs []offers.TaskRef
	for ref, p := range a.procs {
		if p.open && !p.exited && !p.lost {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, compareRefs)
	return refs
}
