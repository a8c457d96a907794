package faults

import "time"

// process is what a master, an agent and a framework have in common: it can
// be killed, come back, be stopped for a while, and has a clock of its own.
type process struct {
	w       *world
	name    string
	run     int // counts its starts
	up      bool
	paused  bool
	pauses  int
	backlog []func() // what came while it was paused
	skew    time.Duration
	leaps   int    // how often its clock was set anew while it ran
	ends    []*end // open connections
	die     func() // drops what is in its memory
	start   func()
}

// time is what its clock shows.
func (p *process) time() time.Time { return epoch.Add(p.w.now + p.skew) }

// skewBy sets its clock anew.
func (p *process) skewBy(d time.Duration) {
	p.skew += d
	p.w.early, p.w.ahead = min(p.w.early, p.skew), max(p.w.ahead, p.skew)
}

// after plans a step of this run of the process.
func (p *process) after(d time.Duration, do func()) {
	run := p.run
	p.w.after(d, func() { p.step(run, do) })
}

// step runs one step, unless the process has died since; while it is paused
// the step waits.
func (p *process) step(run int, do func()) {
	switch {
	case !p.up || p.run != run || p.w.err != nil:
	case p.paused:
		p.backlog = append(p.backlog, func() { p.step(run, do) })
	default:
		do()
		p.stumble(0.0002)
	}
}

// stumble kills the process by chance, in the middle of what it does: between
// any two messages, and before and after whatever it writes down. It reports
// whether the process is dead.
func (p *process) stumble(chance float64) bool {
	if !p.up || p.w.healed {
		return !p.up
	}
	p.w.report.Points++
	if at := p.w.options.CrashAt; at != p.w.report.Points && (at > 0 || !p.w.chance(chance*p.w.options.Crashes)) {
		return false
	}
	p.w.fault("crash at a step")
	p.crash(p.w.spread(50*time.Millisecond, 40*time.Second))
	return true
}

// boot starts the process, unless it runs.
func (p *process) boot() {
	if p.up {
		return
	}
	p.up, p.paused, p.backlog = true, false, nil
	p.run++
	p.w.tell(p.name, "starts")
	p.start()
}

// crash kills the process; it comes back after down. Its peers learn of it
// from the kernel, where the network lets them.
func (p *process) crash(down time.Duration) {
	if !p.up {
		return
	}
	p.w.tell(p.name, "is killed, back in %s", down)
	p.stop()
	p.w.after(down, p.boot)
}

func (p *process) stop() {
	p.up, p.paused, p.backlog = false, false, nil
	ends := p.ends
	p.ends = nil
	for _, e := range ends {
		e.close("the process is gone")
	}
	p.die()
	if !p.w.healed {
		p.skewBy(p.w.options.jump(p.w))
	}
}

// pause stops the process for d: everything that comes waits, and its peers
// hear nothing of it.
func (p *process) pause(d time.Duration) {
	if !p.up || p.paused {
		return
	}
	p.w.tell(p.name, "is paused for %s", d)
	p.paused = true
	p.pauses++
	mark := p.pauses
	for _, e := range p.ends {
		e.other.expect(func() bool { return p.paused && p.pauses == mark })
	}
	p.w.after(d, func() { p.resume(mark) })
}

func (p *process) resume(mark int) {
	if !p.paused || p.pauses != mark {
		return
	}
	p.w.tell(p.name, "goes on with %d inputs", len(p.backlog))
	p.paused = false
	backlog := p.backlog
	p.backlog = nil
	for i, do := range backlog {
		if p.paused { // again, within the backlog
			p.backlog = append(p.backlog, backlog[i:]...)
			return
		}
		do()
	}
}
