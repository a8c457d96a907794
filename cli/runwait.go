package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

// explainPatience is how long somebody who waits anyway waits for the reason.
const explainPatience = 2 * time.Second

// whyWaiting says why a job's tasks wait.
func (cl *client) whyWaiting(ctx context.Context, j *job) string {
	return "waiting for room: " + cl.whyNoRoom(ctx, j.role, j.demand)
}

// whyNoRoom says, dimension by dimension, why no agent has room for a unit of a
// demand, or for all units of a gang, at the moment.
func (cl *client) whyNoRoom(ctx context.Context, role offers.Role, d offers.Demand) string {
	ctx, cancel := context.WithTimeout(ctx, explainPatience)
	defer cancel()
	if d.Gang == 0 {
		one := 1
		d.Count = &one
	}
	e, err := cl.another().explainWish(ctx, role, d)
	switch {
	case err != nil:
		return "the masters don't say why: " + err.Error()
	case e.Missed == nil:
		return "there is some for one: it is the others' turn, or was declined lately"
	}
	if e.Gang {
		return gangShortage(&e)
	}
	return shortage(e.Missed)
}

// gangShortage says why not all units of a gang have a place.
func gangShortage(e *api.Explanation) string {
	return fmt.Sprintf("%d of the %d units of the gang have a place; for the next, %s", e.Units-e.Missing, e.Units, shortage(e.Missed))
}
