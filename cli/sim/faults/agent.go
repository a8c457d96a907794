package faults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// agent is the shell around the machine, as package agent is, with its host.
type agent struct {
	process
	self    offers.Agent
	machine *tasks.Machine
	attempt wire.Attempt
	link    *agentLink // nil: no connection
	leaving bool       // refused: it comes back once its tasks have ended
	ticks   int        // marks the last planned tick

	// On the host: outlives the agent's process.
	disk    disk
	copies  []disk  // of the disk, taken now and then
	witness *uint64 // the epoch that it knows; nil: there is none
	boots   int
	pids    int
	procs   map[offers.TaskRef]*proc
	stray   [][]byte // orders of earlier connections, to come late
}

// agentLink is the connection to a master.
type agentLink struct {
	end        *end
	registered bool
	mail       courier // reports that the master has not acknowledged
}

// disk is the agent's checkpoint: what was committed.
type disk struct {
	meta     tasks.Meta
	epoch    uint64 // counts the commits
	known    string // the last token that the masters have confirmed
	launches map[offers.TaskRef]tasks.Launch
	progress map[offers.TaskRef]tasks.Progress
}

// proc is a task's process with its shim.
type proc struct {
	launch  tasks.Launch
	id      record.Identity
	open    bool // its gate was opened: it ran
	exited  bool
	lost    bool // its shim died
	bare    bool // its record is gone with its folder
	exit    record.Exit
	stopped bool // it was asked to end
}

func newAgent(w *world, n int) *agent {
	a := &agent{disk: newDisk(), procs: map[offers.TaskRef]*proc{}, boots: 1}
	a.process = process{w: w, name: fmt.Sprintf("agent%d", n)}
	a.skewBy(w.options.jump(w))
	total := offers.Inventory{Amounts: offers.Amounts{4000, 8 << 30, 100 << 30}}
	if n%2 == 0 {
		total.Classes = []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{
			{ID: "gpu0", Capacity: 16 << 30}, {ID: "gpu1", Capacity: 16 << 30},
		}}}
	}
	a.self = offers.Agent{Name: a.name, Host: a.name, Address: a.name + ":1", Total: total, Version: "sim", Started: epoch}
	a.die = func() { a.machine, a.link, a.leaving = nil, nil, false }
	a.start = a.recover
	return a
}

func newDisk() disk {
	return disk{launches: map[offers.TaskRef]tasks.Launch{}, progress: map[offers.TaskRef]tasks.Progress{}}
}

// recover brings the machine to where the last run left it.
func (a *agent) recover() {
	now := a.time()
	a.self.Started = epoch.Add(a.w.now)
	a.open()
	a.machine = tasks.New(tasks.Config{Total: a.self.Total, Host: a.name}, a.disk.meta)
	a.attempt = wire.Attempt{Client: a.w.client()}
	known := a.known()
	a.machine.Restore(known, now)
	for _, ref := range slices.SortedFunc(maps.Keys(a.procs), compareRefs) {
		// A shim whose gate was never opened goes with the agent that held it.
		p := a.procs[ref]
		k := slices.IndexFunc(known, func(k tasks.Known) bool { return k.Launch.Ref() == ref })
		if p.open && k < 0 && !p.exited && !p.lost && !p.bare {
			a.w.tell(a.name, "ends %s, which it does not know", ref)
			a.machine.Lost(ref, "it is not in the checkpoint", now)
		}
		if !p.open || k < 0 || known[k].Progress.Process == nil || *known[k].Progress.Process != p.id || known[k].Progress.State.Terminal() {
			delete(a.procs, ref)
		}
	}
	for _, k := range known {
		if k.Progress.State.Terminal() || k.Progress.Process == nil {
			continue
		}
		a.adopt(k.Launch.Ref(), *k.Progress.Process)
	}
	if a.act() {
		a.w.judge.recovered(a)
		a.after(a.w.between(0, 200*time.Millisecond), a.connect)
	}
}

// known returns what was written down. A shim that lies there though nothing
// should have run, or another one, is of a time that the checkpoint does not
// know.
func (a *agent) known() []tasks.Known {
	var known []tasks.Known
	for _, ref := range slices.SortedFunc(maps.Keys(a.disk.launches), compareRefs) {
		k := tasks.Known{Launch: a.disk.launches[ref], Progress: a.disk.progress[ref]}
		p := a.procs[ref]
		if p != nil && p.open && !p.bare && !k.Progress.State.Terminal() && p.launch.Accepted.Equal(k.Launch.Accepted) {
			k.Progress.Process = &p.id
		}
		known = append(known, k)
	}
	return known
}

// adopt finds a process of an earlier run again.
func (a *agent) adopt(ref offers.TaskRef, id record.Identity) {
	p := a.procs[ref]
	switch {
	case id.Boot != a.bootID():
		a.after(0, func() { a.finish(ref, tasks.How{Rebooted: true}) })
	case p == nil || p.id != id || p.bare && p.exited:
		a.after(0, func() { a.finish(ref, tasks.How{Exit: record.Exit{Never: true}}) })
	case p.exited || p.lost:
		a.after(a.w.between(0, 50*time.Millisecond), func() { a.finish(ref, p.how()) })
	default:
		a.machine.Adopted(ref, a.time())
	}
}

func (a *agent) bootID() string { return fmt.Sprintf("boot%d", a.boots) }

func (p *proc) how() tasks.How {
	if p.lost {
		return tasks.How{Lost: true}
	}
	return tasks.How{Exit: p.exit}
}

// act does what the machine wants: first the disk, then the world. Between
// any two of these the process may die; false says that it did.
func (a *agent) act() bool {
	for {
		r := a.machine.Ready()
		if r.Empty() {
			break
		}
		if a.stumble(0.002) {
			return false
		}
		a.commit(&r)
		if a.stumble(0.002) {
			return false
		}
		*a.witness = a.disk.epoch
		if !a.carryOut(&r) {
			return false
		}
	}
	if a.leaving && a.machine.Orphans() == 0 {
		a.leaving = false
		a.after(a.w.between(50*time.Millisecond, time.Second), a.connect)
	}
	a.planTick()
	return true
}

// carryOut does what follows once r is on the disk.
func (a *agent) carryOut(r *tasks.Ready) bool {
	if r.Register {
		a.register()
	}
	for _, l := range r.Start {
		a.prepare(*l)
	}
	for _, ref := range r.Abandon {
		a.abandon(ref)
	}
	for _, ref := range r.Release {
		a.release(ref)
		if a.stumble(0.002) {
			return false
		}
	}
	for _, s := range r.Signals {
		a.signal(s)
		if a.stumble(0.001) {
			return false
		}
	}
	if len(r.Send) > 0 {
		a.w.judge.reported(a, r.Send)
		a.send(&wire.Statuses{Statuses: r.Send})
	}
	return !a.stumble(0.0005)
}

func (a *agent) commit(r *tasks.Ready) {
	if !r.Durable() {
		return
	}
	a.keepCopy()
	a.disk.epoch++
	if r.Meta != nil {
		a.disk.meta = *r.Meta
	}
	for _, l := range r.Launched {
		a.disk.launches[l.Ref()] = *l
	}
	for _, ref := range r.Changed {
		if p, ok := a.machine.Progress(ref); ok {
			a.disk.progress[ref] = p
		}
	}
	for _, ref := range r.Removed {
		delete(a.disk.launches, ref)
		delete(a.disk.progress, ref)
		delete(a.procs, ref)
	}
}

func (a *agent) planTick() {
	next := a.machine.Next()
	if next.IsZero() {
		return
	}
	a.ticks++
	mark := a.ticks
	a.after(next.Sub(a.time()), func() {
		if a.ticks == mark {
			a.machine.Tick(a.time())
			a.act()
		}
	})
}

// connect looks for the leader.
func (a *agent) connect() {
	if a.link != nil || a.leaving {
		return
	}
	m, c, s := a.w.dial(&a.process)
	if m == nil {
		a.after(a.w.between(50*time.Millisecond, 3*time.Second), a.connect)
		return
	}
	m.serve(s, false)
	link := &agentLink{end: c, mail: courier{lazy: true}}
	a.link = link
	c.receive = func(frame []byte) { a.receive(link, frame) }
	c.ended = func(reason string) { a.lost(link) }
	a.machine.Connected(a.w.token())
	a.after(10*time.Second, func() {
		if a.link == link && !link.registered {
			a.hangup()
		}
	})
	a.act()
}

// register introduces the agent to a master.
func (a *agent) register() {
	meta := a.machine.Meta()
	self := a.self
	self.ID = meta.Agent
	sequence, list := a.machine.Register()
	a.w.judge.registers(a, list)
	a.attempt.Number++
	attempt := a.attempt
	a.send(&wire.RegisterAgent{
		Agent: self, Sequence: sequence, Tasks: list, Attempt: &attempt,
		Have: meta.Have, Next: meta.Next, Doubt: meta.Doubt != "",
	})
}

func (a *agent) hangup() {
	link := a.link
	link.end.close("given up")
	a.lost(link)
}

func (a *agent) lost(link *agentLink) {
	if a.link != link {
		return
	}
	a.link = nil
	a.machine.Disconnected()
	a.after(a.w.between(50*time.Millisecond, 2*time.Second), a.connect)
	a.act()
}

func (a *agent) send(m wire.Message) {
	if a.link == nil {
		return
	}
	frame, err := wire.Encode(m, "")
	if err != nil {
		a.w.broken("%s sends what can't be encoded: %v", a.name, err)
		return
	}
	a.link.end.send(frame, fateOf(m))
}

// beat says that the agent lives, as pings do where links have them.
func (a *agent) beat(link *agentLink) {
	a.after(a.w.options.agentTimeout/2, func() {
		if a.link == link {
			a.w.judge.resends(a)
			link.end.send(heartbeat, certain)
			a.beat(link)
		}
	})
}

// receive takes one message of the master.
func (a *agent) receive(link *agentLink, frame []byte) {
	if a.link != link {
		return
	}
	m, _, err := wire.Decode(wire.ToAgent, frame)
	if err != nil {
		a.w.broken("%s can't read %s: %v", a.name, frame, err)
		return
	}
	if !link.registered {
		a.answered(link, m)
	} else {
		a.obey(m)
		a.keep(m, frame)
	}
	if a.machine != nil {
		a.act()
	}
}

// answered takes the answer to the registration.
func (a *agent) answered(link *agentLink, m wire.Message) {
	now := a.time()
	switch m := m.(type) {
	case *wire.AgentRegistered:
		was := a.machine.Meta().Term
		if err := a.machine.Registered(m, now); err != nil {
			a.w.tell(a.name, "does not believe it: %v", err)
			a.hangup()
			return
		}
		a.disk.known = a.machine.Meta().Have
		if m.Older {
			a.w.tell(a.name, "hears that it runs on an older copy")
		}
		link.registered = true
		a.beat(link)
		a.w.tell(a.name, "is registered as %s in term %d", m.AgentID, m.Master.Term)
		if m.Master.Term > was {
			a.late()
		}
	case *wire.ErrorMessage:
		if m.Code == offers.UnknownAgent && a.machine.Meta().Agent != "" {
			a.w.tell(a.name, "was given up: it ends its tasks")
			a.machine.Refused(now)
			a.leaving, a.stray = true, nil
		}
		link.end.close("refused")
		a.lost(link)
	}
}

// obey does what a master orders. An order of an older term is to be ignored.
func (a *agent) obey(m wire.Message) {
	now, term := a.time(), a.machine.Meta().Term
	var err error
	old := false
	switch m := m.(type) {
	case *wire.Launch:
		old, err = m.Term < term, a.machine.Launch(m, now)
	case *wire.KillTask:
		old, err = m.Term < term, a.machine.Kill(m, now)
	case *wire.AcknowledgeStatus:
		a.machine.Acknowledge(m.Acknowledged, now)
		for _, ref := range m.Acknowledged {
			a.link.mail.acknowledged(letter{ref.TaskRef, ref.UpdateID}, a.time())
		}
	}
	if old {
		a.w.report.Fenced++
		if err == nil {
			a.w.broken("%s obeys an order of a term before %d: %+v", a.name, term, m)
		}
	}
}

// keep remembers some orders, so that they come once more and too late.
func (a *agent) keep(m wire.Message, frame []byte) {
	switch m.(type) {
	case *wire.Launch, *wire.KillTask:
		if len(a.stray) < 20 && a.w.chance(0.3) {
			a.stray = append(a.stray, frame)
		}
	}
}

// late brings orders of older terms, as if a way through the network had
// taken them very long.
func (a *agent) late() {
	stray, id := a.stray, a.machine.Meta().Agent
	a.stray = nil
	for _, frame := range stray {
		a.after(a.w.between(0, 10*time.Second), func() {
			// An agent that was given up begins with the terms anew; it is
			// the shell that hears nothing of older connections then.
			m, _, err := wire.Decode(wire.ToAgent, frame)
			if err == nil && a.machine.Meta().Agent == id {
				a.w.fault("late order")
				a.obey(m)
				a.act()
			}
		})
	}
}

func compareRefs(a, b offers.TaskRef) int {
	if a.Framework != b.Framework {
		return compare(a.Framework, b.Framework)
	}
	return compare(a.Task, b.Task)
}
