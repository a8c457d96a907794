package master

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// A leader that was stopped, or cut off from all, ends no connection: its agents
// would find the next one only after its silence. So a new leader calls those that
// do not come by themselves, as they do when a leader ends or dies. What is not
// heard does no harm: the silence ends, too.
const (
	callAfter   = time.Second     // in which no agent came, though some are missing
	callAgain   = 5 * time.Second // after all were called
	callRounds  = 3
	callsAtOnce = 64
	callTimeout = 2 * time.Second
)

// caller calls agents over HTTP.
type caller struct {
	door      *door.Door
	transport http.RoundTripper
}

// call tells an agent that m leads. It returns once the agent has heard it, or why
// it has not.
func (c *caller) call(ctx context.Context, a *state.Agent, m wire.MasterInfo) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, doorOf(a).String()+wire.LeaderPath, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if a.Secure || !c.door.Secure() { // the token never leaves TLS
		req.Header = c.door.Header()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // there may be thousands
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// callAgents calls those that the present core misses, in the name of m. It returns
// when ctx ends, as it does when the core goes.
func (l *loop) callAgents(ctx context.Context, m wire.MasterInfo) {
	(&calls{
		missing: func() []*state.Agent {
			agents, err := ask(ctx, l, func(core *lead.Core, answer func([]*state.Agent, error)) { answer(core.Missing(), nil) })
			if err != nil {
				return nil // it leads no more
			}
			return agents
		},
		call: func(a *state.Agent) {
			if err := l.config.call(ctx, a, m); err != nil {
				l.logger.Debug("an agent is not told who leads", "agent", a.ID, "address", a.Address, "error", err)
			}
		},
	}).run(ctx)
}

// calls are those of one leader.
type calls struct {
	missing func() []*state.Agent // that are still to come
	call    func(*state.Agent)    // returns soon after its context has ended
}

// run calls whoever is missing, once none came for a while, until all have come or
// have been called callRounds times.
func (c *calls) run(ctx context.Context) {
	rounds, wait := 0, callAfter
	for before := c.missing(); len(before) > 0 && rounds < callRounds; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = callAfter
		agents := c.missing()
		if len(agents) == len(before) { // else they are coming
			c.callAll(ctx, agents)
			rounds, wait = rounds+1, callAgain
		}
		before = agents
	}
}

// callAll calls some agents, several at once.
func (c *calls) callAll(ctx context.Context, agents []*state.Agent) {
	var under sync.WaitGroup
	defer under.Wait()
	places := make(chan struct{}, callsAtOnce)
	for _, a := range agents {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		under.Go(func() {
			c.call(a)
			<-places
		})
	}
}
