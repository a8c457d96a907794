package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// hopePatience is how long a detached run waits for an agent that is not there:
// those of a cluster that has just begun may be on their way.
const hopePatience = 2 * time.Second

// detach launches the tasks, prints FRAMEWORK:TASK as each is durable, and
// leaves the framework behind. When it is interrupted, no agent could take them
// or one of the tasks is refused it ends all of them: half of a detached run is nothing to leave.
func (r *running) detach(ctx context.Context) error {
	waiting := r.job.tasks()
	err := r.fw.Demand(r.job.demand)
	quiet := r.notice(ctx)
	hoping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var hopeless *time.Timer
	for err == nil && r.waiting.Load() > 0 {
		var e framework.Event
		if e, err = r.fw.Next(hoping); err != nil {
			if cause := context.Cause(hoping); cause != nil && ctx.Err() == nil {
				err = cause
			}
			break
		}
		switch e := e.(type) {
		case framework.Offered:
			if hopeless != nil && hopeless.Stop() {
				hopeless = nil // its agent came
				r.never.Store(false)
			}
			waiting, err = r.launch(waiting, e.Offers)
		case framework.Accepted:
			err = r.print(e.Tasks)
		case framework.Updated:
			if s := e.Status; s.State == offers.Rejected || s.State == offers.Dropped {
				err = fmt.Errorf("task %s is %s: %s", s.Task, s.State, sentence(s))
			}
		case framework.Waits:
			if hopeless == nil {
				r.never.Store(true)
				hopeless = time.AfterFunc(hopePatience, func() {
					stop(fmt.Errorf("%s for an agent that is not there, so none is left behind: %s", waitFor(int(r.waiting.Load())), e.Why))
				})
			}
		case framework.Refused:
			err = e.Err
		}
	}
	if hopeless != nil {
		hopeless.Stop()
	}
	quiet()
	if err == nil {
		r.fw.Close()
		return nil
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer cancel()
	if terr := r.fw.Teardown(bye); terr != nil {
		r.out.say("framework %s could not be ended; see ringmaster teardown: %v", r.fw.ID(), terr)
	}
	if ctx.Err() != nil {
		return exitCause(ctx)
	}
	return err
}

func (r *running) launch(waiting []offers.Task, list []wire.Offer) ([]offers.Task, error) {
	for i := range list {
		n := min(framework.Units(list[i].Resources, r.job.task.Resources), len(waiting))
		if n == 0 {
			r.fw.Decline(0, list[i].ID)
			continue
		}
		if err := r.fw.Accept([]offers.OfferID{list[i].ID}, waiting[:n]...); err != nil {
			return waiting, err
		}
		waiting = waiting[n:]
	}
	return waiting, nil
}

func (r *running) print(ids []offers.TaskID) error {
	for _, id := range ids {
		r.waiting.Add(-1)
		if _, err := fmt.Fprintln(r.out.out, offers.TaskRef{Framework: r.fw.ID(), Task: id}); err != nil {
			return err
		}
	}
	return nil
}
