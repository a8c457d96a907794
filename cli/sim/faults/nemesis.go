package faults

import (
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// nemesis breaks something every now and then, until the healing.
func (w *world) nemesis() {
	w.after(w.spread(w.options.Pace/8, w.options.Pace*4), func() {
		if w.healed {
			return
		}
		w.strike()
		w.nemesis()
	})
}

// strike does one fault.
func (w *world) strike() {
	kinds := []struct {
		weight int
		name   string
		do     func() bool
	}{
		{12, "connection broken", w.breakOne},
		{8, "partition", func() bool { return w.partition(true) }},
		{8, "one-way partition", func() bool { return w.partition(false) }},
		{5, "master cut off", w.isolate},
		{2, "agents cut off", w.isolateAgents},
		{8, "master killed", func() bool { return w.kill(&pick(w, w.masters).process) }},
		{6, "leader killed", func() bool { return w.raft.leader != nil && w.kill(&w.raft.leader.process) }},
		{10, "agent killed", func() bool { return w.kill(&pick(w, w.agents).process) }},
		{3, "host restarted", func() bool { return w.restart(false) }},
		{1, "host restarted with a new disk", func() bool { return w.restart(true) }},
		{4, "task's shim killed", w.killShim},
		{3, "older copy of a checkpoint", w.olderCopy},
		{8, "framework killed", func() bool { return w.kill(&pick(w, w.frameworks).process) }},
		{1, "framework left for good", w.leave},
		{1, "framework torn down", w.tearDown},
		{1, "framework without its id", w.forget},
		{1, "ended framework comes back", w.revive},
		{2, "framework taken over", w.takeOver},
		{5, "leader paused", func() bool { return w.raft.leader != nil && w.pause(&w.raft.leader.process) }},
		{3, "master paused", func() bool { return w.pause(&pick(w, w.masters).process) }},
		{4, "agent paused", func() bool { return w.pause(&pick(w, w.agents).process) }},
		{4, "framework paused", func() bool { return w.pause(&pick(w, w.frameworks).process) }},
		{4, "clock jump forward", func() bool { return w.jump(1) }},
		{4, "clock jump back", func() bool { return w.jump(-1) }},
		{4, "slow network", w.slowDown},
		{4, "slow disks of masters", w.slowDisks},
		{4, "leadership transferred", w.transfer},
		{3, "agent drained", func() bool { return w.operate(offers.AgentDraining) }},
		{3, "agent undrained", func() bool { return w.operate(offers.AgentActive) }},
		{1, "agent removed", func() bool { return w.operate(offers.AgentGone) }},
		{3, "task killed by an operator", w.killTask},
		{2, "role set", w.setRole},
		{2, "master removed", w.removeMaster},
		{6, "master added", w.addMaster},
	}
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := w.rng.IntN(sum)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			w.tell("fault", "%s", k.name)
			if k.do() {
				w.fault(k.name)
			}
			return
		}
	}
}

func (w *world) breakOne() bool {
	if len(w.net.lanes) == 0 {
		return false
	}
	pick(w, w.net.lanes).reset()
	return true
}

// partition cuts the way between two processes, one of them a master.
func (w *world) partition(both bool) bool {
	a, b := pick(w, w.masters).name, pick(w, w.names())
	if a == b {
		return false
	}
	d := w.spread(100*time.Millisecond, time.Minute)
	if w.chance(0.5) {
		a, b = b, a
	}
	w.tell("fault", "%s no longer reaches %s for %s, both ways %v", a, b, d, both)
	w.net.block(a, b, d)
	if both {
		w.net.block(b, a, d)
	}
	return true
}

// isolate cuts a master, mostly the leader, off from the other masters or
// from everybody, in one direction or both.
func (w *world) isolate() bool {
	m := pick(w, w.masters)
	if w.raft.leader != nil && w.chance(0.7) {
		m = w.raft.leader
	}
	d, out, in, all := w.spread(200*time.Millisecond, time.Minute), w.chance(0.8), w.chance(0.8), w.chance(0.3)
	w.tell("fault", "%s is cut off for %s: out %v, in %v, for all %v", m.name, d, out, in, all)
	for _, name := range w.names() {
		isMaster := slices.ContainsFunc(w.masters, func(o *master) bool { return o.name == name })
		if name == m.name || !isMaster && !all {
			continue
		}
		if out {
			w.net.block(m.name, name, d)
		}
		if in {
			w.net.block(name, m.name, d)
		}
	}
	return out || in
}

// isolateAgents cuts all agents off from all masters.
func (w *world) isolateAgents() bool {
	d := w.spread(time.Second, 2*time.Minute)
	w.tell("fault", "no agent reaches a master for %s", d)
	for _, a := range w.agents {
		for _, m := range w.masters {
			w.net.block(a.name, m.name, d)
			w.net.block(m.name, a.name, d)
		}
	}
	return true
}

func (w *world) names() []string {
	var names []string
	for _, p := range w.processes() {
		names = append(names, p.name)
	}
	return names
}

func (w *world) processes() []*process {
	var list []*process
	for _, m := range w.masters {
		list = append(list, &m.process)
	}
	for _, a := range w.agents {
		list = append(list, &a.process)
	}
	for _, f := range w.frameworks {
		if !f.over {
			list = append(list, &f.process)
		}
	}
	return list
}

func (w *world) kill(p *process) bool {
	if !p.up {
		return false
	}
	p.crash(w.spread(50*time.Millisecond, time.Minute))
	return true
}

func (w *world) pause(p *process) bool {
	if !p.up || p.paused {
		return false
	}
	p.pause(w.spread(50*time.Millisecond, time.Minute))
	return true
}

func (w *world) restart(wiped bool) bool {
	a := pick(w, w.agents)
	if !a.up {
		return false
	}
	a.reboot(w.spread(time.Second, time.Minute), wiped)
	return true
}

func (w *world) killShim() bool {
	a := pick(w, w.agents)
	running := a.running()
	if len(running) == 0 {
		return false
	}
	a.shimDies(pick(w, running))
	return true
}

const longestJump = 2 * time.Minute

// jump moves the clock of one process; the real ones measure spans by a clock
// that does not jump, so this is harsher.
func (w *world) jump(sign time.Duration) bool {
	p := pick(w, w.processes())
	d := sign * w.spread(time.Second, longestJump)
	w.tell("fault", "the clock of %s jumps by %s", p.name, d)
	p.skewBy(d)
	p.leaps++
	return true
}

func (w *world) slowDown() bool {
	w.net.slow = w.spread(20*time.Millisecond, 5*time.Second)
	w.after(w.between(time.Second, 10*time.Second), func() { w.net.slow = 0 })
	return true
}

func (w *world) slowDisks() bool {
	w.raft.slow = w.spread(20*time.Millisecond, 3*time.Second)
	w.after(w.between(time.Second, 20*time.Second), func() { w.raft.slow = 0 })
	return true
}

// heal ends all faults: everybody is up, goes on, and reaches everybody.
func (w *world) heal() {
	w.tell("world", "heals")
	w.healed = true
	w.net.slow, w.raft.slow = 0, 0
	w.raft.voters = slices.Clone(w.masters)
	for len(w.net.blocked) > 0 {
		var first [2]string
		for k := range w.net.blocked {
			if first[0] == "" || k[0]+" "+k[1] < first[0]+" "+first[1] {
				first = k
			}
		}
		w.net.blocked[first] = 1
		w.net.unblock(first[0], first[1])
	}
	for _, p := range w.processes() {
		p.resume(p.pauses)
		if !p.up {
			p.boot()
		}
	}
	for a := range w.raft.state.Agents() {
		if a.State == offers.AgentDraining || a.State == offers.AgentDrained {
			w.tell("world", "agent %s is %s", a.ID, a.State)
		}
	}
	for _, f := range w.frameworks {
		f.rest()
	}
	w.nudge()
}

// nudge kills what would run for longer than anybody waits.
func (w *world) nudge() {
	w.after(10*time.Second, func() {
		for _, f := range w.frameworks {
			if f.up && !f.over {
				f.rest()
			}
		}
	})
}
