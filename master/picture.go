package master

import (
	"context"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// picture is what readers see: replicated and soft state of one moment, save what
// frameworks store, since the last picture is kept until somebody asks for another
// one. Nothing in it ever changes.
type picture struct {
	State       *state.State
	Match       *match.View
	AgentOnline map[offers.AgentID]bool
	Connected   map[offers.FrameworkID]bool
	Reports     lead.Reports
	Term        uint64
}

// picture returns the present picture; it is taken anew only when something
// changed. The error is not_leader where this master does not lead.
func (l *loop) picture(ctx context.Context) (*picture, error) {
	return ask(ctx, l, func(core *lead.Core, answer func(*picture, error)) {
		if l.seen == nil || core.Changed() {
			o := core.Observe()
			l.seen = &picture{o.State.WithoutStores(), o.Match, o.AgentOnline, o.Connected, o.Reports, l.term}
		}
		answer(l.seen, nil)
	})
}

// held returns what outstanding offers hold, by agent.
func (l *loop) held(ctx context.Context) (map[offers.AgentID]offers.Holding, error) {
	return ask(ctx, l, func(core *lead.Core, answer func(map[offers.AgentID]offers.Holding, error)) { answer(core.Held(), nil) })
}

// state returns what is replicated, everything that this leader has committed
// in it. Unlike a picture it costs nothing.
func (l *loop) state(ctx context.Context) (*state.State, error) {
	return ask(ctx, l, func(_ *lead.Core, answer func(*state.State, error)) { answer(l.replica.State(), nil) })
}

// command commits commands of operators in one entry and waits for their
// results, one each.
func (l *loop) command(ctx context.Context, commands ...state.Command) ([]state.Result, error) {
	return ask(ctx, l, func(core *lead.Core, answer func([]state.Result, error)) {
		results := make([]state.Result, 0, len(commands))
		for _, c := range commands {
			core.Commit(c, func(r state.Result) {
				if results = append(results, r); len(results) == len(commands) {
					answer(results, nil)
				}
			})
		}
	})
}
