package scheduler

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// maxAccept is of how many bytes of tasks no more are added to an accept, well
// below wire.MaxMessage; the rest of the offer comes again. The files of gangs are
// bounded instead, since a part of one is no use.
const maxAccept = 1 << 20

// Offered launches what an offer has room for.
func (s *Scheduler) Offered(now time.Time, o *wire.Offer) {
	g := s.byDemand[o.DemandID]
	var ready []int
	units := 0
	if g != nil {
		ready, units = g.ready(now), g.units(o)
		if g.gang() { // some of it may be launched, in the offers before this one
			ready = g.still()
		}
	}
	if len(ready) == 0 || units == 0 {
		s.out.Declines = append(s.out.Declines, o.ID)
		return
	}
	n := min(units, len(ready), g.asked)
	a := Accept{Offer: o.ID}
	ports := o.Resources.Ports
	for size, i := 0, 0; i < n && (size < maxAccept || g.gang()); i++ {
		its := ports.Next(0, g.work.Resources.AnyPorts)
		ports = ports.Minus(its)
		t := g.launch(now, ready[i], &o.Agent, its)
		s.trace(g, ready[i], &t)
		size += weigh(&t)
		a.Tasks = append(a.Tasks, t)
		g.asked--
		s.writeInstance(g, ready[i]) // for people; nothing waits for it
	}
	if g.asked == 0 {
		delete(s.byDemand, o.DemandID)
	}
	s.out.Accepts = append(s.out.Accepts, a)
	s.touch(g.run)
	s.changed(g.run.job)
}

// units returns for how many instances an offer is. Ports that are to be chosen
// must be in it; any other room the masters judge better.
func (g *group) units(o *wire.Offer) int {
	units := session.Units(o.Resources, g.work.Asks())
	if g.work.Resources.AnyPorts > 0 {
		return units
	}
	return max(1, units)
}

// weigh returns how many bytes a task takes in a message.
func weigh(t *offers.Task) int {
	text, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("scheduler: task %s can't be written as JSON: %v", t.ID, err))
	}
	return len(text)
}

// launch turns an instance into a task on an agent, with the ports that were
// chosen for it.
func (g *group) launch(now time.Time, index int, agent *wire.OfferAgent, chosen offers.Ports) offers.Task {
	in := &g.instances[index]
	in.Attempt++
	in.Phase = Launched
	in.Version = g.run.Version
	in.well, in.away = time.Time{}, time.Time{}
	w := g.work
	holds := w.Asks()
	if w.Resources.AnyPorts > 0 {
		holds.Ports, holds.AnyPorts = chosen, 0
	}
	in.Last = Last{State: offers.Staging, Agent: agent.ID, Host: agent.Name, Ports: holds.Ports, Launched: now}
	t := offers.Task{
		ID: g.ref(index).taskID(), Name: g.run.job.Name, Resources: holds, Container: w.Container,
		Artifacts: w.Artifacts, Health: w.Health, KillGrace: w.KillGrace, MaxRuntime: w.MaxRuntime, Labels: w.Labels,
		Command: &offers.Command{Shell: w.Command.Shell, Env: g.environment(index), User: w.User, Dir: w.Dir},
	}
	value := g.values(index, agent, holds.Ports.Each())
	for _, arg := range w.Command.Argv {
		t.Command.Argv = append(t.Command.Argv, expand(arg, value))
	}
	for name, text := range w.Env {
		t.Command.Env[name] = expand(text, value)
	}
	return t
}

// environment is what every instance sees.
func (g *group) environment(index int) map[string]string {
	env := map[string]string{
		"RINGMASTER_JOB": g.run.job.Name, "RINGMASTER_RUN": fmt.Sprint(g.run.Number),
		"RINGMASTER_INDEX": fmt.Sprint(index), "RINGMASTER_COUNT": fmt.Sprint(len(g.instances)),
		"RINGMASTER_ATTEMPT": fmt.Sprint(g.instances[index].Attempt),
	}
	if g.step != "" {
		env["RINGMASTER_STEP"] = g.step
	}
	if g.work.Each != nil {
		env["RINGMASTER_ITEM"] = g.work.Item(index)
	}
	return env
}

// values are what templates may name.
func (g *group) values(index int, agent *wire.OfferAgent, ports []uint16) func(string) (string, error) {
	known := map[string]string{
		"job": g.run.job.Name, "run": fmt.Sprint(g.run.Number), "index": fmt.Sprint(index), "item": g.work.Item(index),
		"count": fmt.Sprint(len(g.instances)), "attempt": fmt.Sprint(g.instances[index].Attempt),
		"agent": agent.Name, "agent.id": string(agent.ID), "agent.host": agent.Host, "agent.address": agent.Address,
	}
	return func(name string) (string, error) {
		if n, isPort := g.work.Resources.Port(name); isPort && n >= 0 && n < len(ports) {
			return fmt.Sprint(ports[n]), nil
		}
		return known[name], nil
	}
}

// expand is for texts that were validated with their job.
func expand(text string, value func(string) (string, error)) string {
	out, err := spec.Expand(text, value)
	if err != nil {
		return text
	}
	return out
}

// NotLaunched says that an accept could not be sent: its tasks never were.
func (s *Scheduler) NotLaunched(now time.Time, tasks []offers.Task, why string) {
	for i := range tasks {
		if g, index := s.find(tasks[i].ID); g != nil && g.instances[index].Phase == Launched {
			st := offers.Status{State: offers.Dropped, Message: why}
			s.traceEnd(now, g, index, &st)
			s.dropped(now, g, index, st)
		}
	}
}

// Settled says that the masters have told all tasks they know of. Launches
// that they did not tell are asked for by name; from now on jobs go on.
func (s *Scheduler) Settled() {
	first := !s.settled
	s.settled = true
	for _, j := range s.jobs {
		for _, r := range j.runs {
			if r.State.Ended() {
				continue
			}
			s.touch(r)
			for _, g := range r.groups {
				for i := range g.instances {
					if in := &g.instances[i]; first && in.Phase == Launched && !in.told {
						s.out.Ask = append(s.out.Ask, g.ref(i).taskID())
					}
				}
			}
		}
	}
}

// find returns the instance whose last launch has that id.
func (s *Scheduler) find(id offers.TaskID) (*group, int) {
	r, ok := parseTask(id)
	if !ok {
		return nil, 0
	}
	g := s.group(r)
	if g == nil || r.index >= len(g.instances) || g.instances[r.index].Attempt != r.attempt {
		return nil, 0
	}
	return g, r.index
}

func (s *Scheduler) group(r ref) *group {
	j := s.jobs[r.job]
	if j == nil {
		return nil
	}
	for _, run := range j.runs {
		if run.Number != r.run {
			continue
		}
		for _, g := range run.groups {
			if g.step == r.step {
				return g
			}
		}
	}
	return nil
}
