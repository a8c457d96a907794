package master

import (
	"net/http"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func (p *picture) showFramework(f *state.Framework) any {
	v := p.Match.Frameworks[f.ID]
	return shown.Framework{
		ID: f.ID, Name: f.Name, Role: f.Role, User: f.User, Connected: p.Connected[f.ID], Removed: f.Removed,
		Tasks: p.State.LiveCount(f.ID), Share: v.Share, Dominant: v.Dominant,
		Used: show(v.Used), Offered: show(v.Offered), Demands: v.Demands, Suppressed: v.Suppressed,
		Labels: f.Labels, FailoverTimeout: offers.Duration(f.FailoverTimeout),
		Deadline: moment(f.Deadline), Registered: moment(f.Registered),
	}
}

// listFrameworks leaves out the removed ones unless ?state=removed asks for them.
func (a *api) listFrameworks(r *http.Request, p *picture) (any, error) {
	l, err := newLister(r, "frameworks")
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if s := q.Get("state"); s != "" && s != "connected" && s != "disconnected" && s != "removed" {
		return nil, offers.Errorf(offers.BadMessage, "state is %.60q; a framework is connected, disconnected or removed", s)
	}
	for f := range p.State.Frameworks() {
		s := p.frameworkState(f)
		if given(q.Get("state"), s) || q.Get("state") == "" && s == "removed" ||
			given(q.Get("role"), string(f.Role)) || given(q.Get("framework"), string(f.ID), f.Name) {
			continue
		}
		if !l.add(string(f.ID), func() any { return p.showFramework(f) }) {
			break
		}
	}
	return l.page(), nil
}

func (p *picture) frameworkState(f *state.Framework) string {
	switch {
	case f.Removed:
		return "removed"
	case p.Connected[f.ID]:
		return "connected"
	default:
		return "disconnected"
	}
}

func (a *api) oneFramework(r *http.Request, p *picture) (any, error) {
	f, err := p.findFramework(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return p.showFramework(f), nil
}

// findFramework returns the framework of an id, a name, or a unique beginning of
// an id.
func (p *picture) findFramework(text string) (*state.Framework, error) {
	if f := p.State.Framework(offers.FrameworkID(text)); f != nil {
		return f, nil
	}
	return called(p.State.Frameworks(), "framework", text, offers.UnknownFramework, func(f *state.Framework) (id, name string, gone bool) {
		return string(f.ID), f.Name, f.Removed
	})
}

// teardownFramework ends a framework and kills its tasks.
func (a *api) teardownFramework(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	return a.act(w, r, func(p *picture) ([]state.Command, any, error) {
		f, err := p.findFramework(r.PathValue("id"))
		if err != nil {
			return nil, nil, err
		}
		return []state.Command{{RemoveFramework: &state.RemoveFramework{ID: f.ID, Time: time.Now().UTC()}}}, shown.FrameworkAct{ID: f.ID}, nil
	})
}
