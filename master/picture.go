package master

import (
	"context"
	"maps"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// picture is what readers see: replicated and soft state of one moment.
// Nothing in it ever changes.
type picture struct {
	State       *state.State
	Match       *match.View
	AgentOnline map[offers.AgentID]bool
	Connected   map[offers.FrameworkID]bool
	TaskStates  map[offers.TaskRef]offers.Status // last report of living tasks
	Term        uint64
}

// picture returns the present picture; it is taken anew only when something
// changed. The error is not_leader where this master does not lead.
func (l *loop) picture(ctx context.Context) (*picture, error) {
	return ask(ctx, l, func(lead *leadership, answer func(*picture, error)) {
		if lead.dirty || lead.picture == nil {
			lead.picture, lead.dirty = lead.takePicture(), false
		}
		answer(lead.picture, nil)
	})
}

func (lead *leadership) takePicture() *picture {
	p := &picture{
		State: lead.state(), Match: lead.match.View(), Term: lead.term,
		AgentOnline: make(map[offers.AgentID]bool, len(lead.agents)),
		Connected:   make(map[offers.FrameworkID]bool, len(lead.frameworks)),
		TaskStates:  maps.Clone(lead.delivery.last),
	}
	for id := range lead.agents {
		p.AgentOnline[id] = true
	}
	for id := range lead.frameworks {
		p.Connected[id] = true
	}
	return p
}

// command commits commands of operators in one entry and waits for their
// results, one each.
func (l *loop) command(ctx context.Context, commands ...state.Command) ([]state.Result, error) {
	return ask(ctx, l, func(lead *leadership, answer func([]state.Result, error)) {
		results := make([]state.Result, 0, len(commands))
		for _, c := range commands {
			lead.commit(c, func(r state.Result) {
				if results = append(results, r); len(results) == len(commands) {
					answer(results, nil)
				}
			})
		}
	})
}
