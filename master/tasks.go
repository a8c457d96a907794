package master

import (
	"iter"
	"net/http"
	"strings"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (p *picture) showTask(t *state.Task) *shown.Task {
	status := p.taskStatus(t)
	a := t.Pattern.Resources.Amounts
	out := &shown.Task{
		ID: t.ID, Name: t.Pattern.Name, Framework: t.Framework, Agent: t.Agent, Role: t.Role, State: status.State,
		Resources: shown.TaskResources{
			CPUs: cores(a[offers.CPUs]), Mem: a[offers.Mem], Disk: a[offers.Disk], Bandwidth: a[offers.Bandwidth],
			Ports: t.Holding.Ports, Devices: t.Pattern.Resources.Devices,
		},
		Devices: status.Devices, ExitCode: status.ExitCode, Signal: status.Signal, Healthy: status.Healthy, Reason: status.Reason, Message: status.Message,
		Labels: t.Pattern.Labels, Killed: t.Kill != nil && t.End == nil, Created: moment(t.Created), Started: moment(status.Started),
	}
	if out.Devices == nil {
		out.Devices = t.Holding.Devices.Map()
	}
	if out.Devices == nil {
		out.Devices = map[string][]offers.Grant{}
	}
	if t.End != nil {
		out.Finished = moment(t.End.Time)
	}
	return out
}

// taskStatus is how a task stands: its end, or that its agent is away, or its
// last report, or that none has come yet.
func (p *picture) taskStatus(t *state.Task) offers.Status {
	if t.End != nil {
		return *t.End
	}
	if a := p.State.Agent(t.Agent); a != nil && a.State == offers.AgentUnreachable {
		return offers.Status{State: offers.Unreachable, Reason: offers.ReasonAgentAway, Time: a.Since}
	}
	if last, ok := p.Reports.Of(t.Ref()); ok {
		return last
	}
	return offers.Status{State: offers.Staging, Time: t.Created}
}

func (a *api) listTasks(r *http.Request, p *picture) (any, error) {
	l, err := newLister(r, "tasks")
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if s := offers.State(q.Get("state")); s != "" && !s.Known() {
		return nil, offers.Errorf(offers.BadMessage, "state is %.60q; a task is %s", s, oneOf(taskStates))
	}
	for t := range p.tasksOf(q.Get("framework"), l.after) {
		if given(q.Get("agent"), string(t.Agent), p.agentName(t.Agent)) || given(q.Get("role"), string(t.Role)) ||
			q.Has("state") && given(q.Get("state"), string(p.taskStatus(t).State)) {
			continue
		}
		if !l.add(t.Ref().String(), func() any { return p.showTask(t) }) {
			break
		}
	}
	return l.page(), nil
}

// tasksOf yields the tasks of the framework of that id or name, all for "", from
// about the task on that a page ended with.
func (p *picture) tasksOf(framework, last string) iter.Seq[*state.Task] {
	f, id, _ := strings.Cut(last, ":")
	from := offers.TaskRef{Framework: offers.FrameworkID(f), Task: offers.TaskID(id)}
	known := p.State.Framework(offers.FrameworkID(framework)) != nil
	if known && f != framework {
		from = offers.TaskRef{Framework: offers.FrameworkID(framework)}
	}
	return func(yield func(*state.Task) bool) {
		for t := range p.State.TasksFrom(from) {
			switch {
			case known && string(t.Framework) != framework:
				return
			case !known && framework != "" && p.frameworkName(t.Framework) != framework:
			case !yield(t):
				return
			}
		}
	}
}

func (p *picture) frameworkName(id offers.FrameworkID) string {
	if f := p.State.Framework(id); f != nil {
		return f.Name
	}
	return ""
}

func (p *picture) agentName(id offers.AgentID) string {
	if a := p.State.Agent(id); a != nil {
		return a.Name
	}
	return ""
}

func (a *api) oneTask(r *http.Request, p *picture) (any, error) {
	t, err := p.findTask(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	status, out := p.taskStatus(t), p.showTask(t)
	out.History = history(t, status.Started, a.feed.timeline(t.Ref()))
	return out, nil
}

// findTask returns the task that text names: FRAMEWORK:TASK, an id, or a
// unique beginning of either part. FRAMEWORK may be a name too, of which the task
// tells apart those that share it. A whole id wins over beginnings, then a name
// over beginnings of ids, then a framework that is there over a removed one.
func (p *picture) findTask(text string) (*state.Task, error) {
	at := strings.LastIndexByte(text, ':') // no task's id holds one, and names may
	framework, id := text[:max(at, 0)], text[at+1:]
	if t := p.State.Task(offers.TaskRef{Framework: offers.FrameworkID(framework), Task: offers.TaskID(id)}); t != nil {
		return t, nil
	}
	named := p.named(framework)
	var exact, begins [unnamed + 1][]*state.Task
	for t := range p.State.Tasks() {
		who, is := named[t.Framework]
		if !is {
			who = unnamed
		}
		if !is && !strings.HasPrefix(string(t.Framework), framework) || !strings.HasPrefix(string(t.ID), id) {
			continue
		}
		if begins[who] = append(begins[who], t); string(t.ID) == id {
			exact[who] = append(exact[who], t)
		}
	}
	ref := func(t *state.Task) string { return t.Ref().String() }
	for _, ways := range [][unnamed + 1][]*state.Task{exact, begins} {
		for who, found := range ways {
			switch {
			case len(found) == 1:
				return found[0], nil
			case len(found) > 1 && who != unnamed:
				return nil, conflict("%.140q is %d tasks (%s): give more of the id, or the framework's", text, len(found), few(found, ref))
			case len(found) > 1:
				return only(found, "task", text, offers.UnknownTask, ref)
			}
		}
	}
	return only[*state.Task](nil, "task", text, offers.UnknownTask, ref)
}

// How the framework of a task that is looked for is called.
const (
	namedHere = iota
	namedGone // it is removed
	unnamed   // by its id, or not at all
)

// named returns the frameworks of a name, namedHere or namedGone.
func (p *picture) named(name string) map[offers.FrameworkID]int {
	out := map[offers.FrameworkID]int{}
	for f := range p.State.Frameworks() {
		switch {
		case name == "" || f.Name != name:
		case f.Removed:
			out[f.ID] = namedGone
		default:
			out[f.ID] = namedHere
		}
	}
	return out
}

// killTask orders the end of a task.
func (a *api) killTask(w http.ResponseWriter, r *http.Request) error {
	var order shown.Kill
	if err := readBody(r, &order); err != nil {
		return err
	}
	return a.act(w, r, func(p *picture) ([]state.Command, any, error) {
		t, err := p.findTask(r.PathValue("id"))
		if err != nil {
			return nil, nil, err
		}
		kill := state.KillTask{Ref: t.Ref(), Order: state.KillOrder{Grace: order.Grace, Reason: "operator", Time: time.Now().UTC()}}
		return []state.Command{{KillTask: &kill}}, t.Ref(), nil
	})
}
