package master

import (
	"net/http"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// act looks, lets decide say which commands follow, commits them and answers
// with what show makes of the results.
func (a *api) act(w http.ResponseWriter, r *http.Request, decide func(*picture) ([]state.Command, any, error)) error {
	p, err := a.sight(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	commands, answer, err := decide(p)
	if err != nil {
		return err
	}
	results, err := a.loop.command(r.Context(), commands...)
	if err != nil {
		return a.elsewhere(w, r, undecided(err))
	}
	for _, res := range results {
		if res.Err != nil {
			return res.Err
		}
	}
	return write(w, answer)
}

// drainAgent takes an agent out of service: no more offers, and its tasks are
// told to end. With a deadline that is the time each has between SIGTERM and
// SIGKILL. One that is unreachable drains when it is back.
func (a *api) drainAgent(w http.ResponseWriter, r *http.Request) error {
	var order shown.Drain
	if err := readBody(r, &order); err != nil {
		return err
	}
	return a.act(w, r, func(p *picture) ([]state.Command, any, error) {
		ag, err := p.findAgent(r.PathValue("id"))
		if err != nil {
			return nil, nil, err
		}
		to := offers.AgentDraining
		switch ag.State {
		case offers.AgentActive, offers.AgentDraining:
		case offers.AgentUnreachable:
			to = ag.State
		default:
			return nil, nil, conflict("agent %s is %s; an active one can be drained", ag.ID, ag.State)
		}
		now := time.Now().UTC()
		var commands []state.Command
		// The orders come first, so that their grace is the one that counts.
		for t := range p.State.LiveTasksOn(ag.ID) {
			commands = append(commands, state.Command{KillTask: &state.KillTask{Ref: t.Ref(), Order: state.KillOrder{Grace: order.Deadline, Reason: "drain", Time: now}}})
		}
		commands = append(commands, state.Command{SetAgentState: &state.SetAgentState{ID: ag.ID, State: offers.AgentDraining, Time: now}})
		return commands, shown.AgentAct{ID: ag.ID, State: to}, nil
	})
}

func (a *api) undrainAgent(w http.ResponseWriter, r *http.Request) error {
	return a.move(w, r, offers.AgentActive, "a draining or drained one can be undrained")
}

func (a *api) removeAgent(w http.ResponseWriter, r *http.Request) error {
	return a.move(w, r, offers.AgentGone, "")
}

// move sets the state of an agent. One that is gone may not go anywhere, but to
// be gone again; one that is unreachable stays that until it is back.
func (a *api) move(w http.ResponseWriter, r *http.Request, to offers.AgentState, hint string) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	return a.act(w, r, func(p *picture) ([]state.Command, any, error) {
		ag, err := p.findAgent(r.PathValue("id"))
		if err != nil {
			return nil, nil, err
		}
		answer := shown.AgentAct{ID: ag.ID, State: to}
		switch {
		case to == offers.AgentGone:
		case ag.State == offers.AgentGone:
			return nil, nil, conflict("agent %s is %s; %s", ag.ID, ag.State, hint)
		case ag.State == offers.AgentUnreachable:
			answer.State = ag.State
		}
		return []state.Command{{SetAgentState: &state.SetAgentState{ID: ag.ID, State: to, Time: time.Now().UTC()}}}, answer, nil
	})
}

func conflict(format string, args ...any) error {
	return &statusError{http.StatusConflict, offers.Errorf(offers.BadMessage, format, args...)}
}
