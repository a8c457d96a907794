package cli

import (
	"context"
	"fmt"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// detach launches the tasks, prints FRAMEWORK:TASK as each is durable, and
// leaves the framework behind. When it is interrupted or one of the tasks is
// refused it ends all of them: half of a detached run is nothing to leave.
func (r *running) detach(ctx context.Context) error {
	waiting := r.job.tasks()
	err := r.fw.Demand(r.job.demand)
	quiet := r.notice(ctx)
	for err == nil && r.waiting.Load() > 0 {
		var e framework.Event
		if e, err = r.fw.Next(ctx); err != nil {
			break
		}
		switch e := e.(type) {
		case framework.Offered:
			waiting, err = r.launch(waiting, e.Offers)
		case framework.Accepted:
			err = r.print(e.Tasks)
		case framework.Updated:
			if s := e.Status; s.State == offers.Rejected || s.State == offers.Dropped {
				err = fmt.Errorf("task %s is %s: %s", s.Task, s.State, sentence(s))
			}
		case framework.Waits:
			r.hopeless(e)
		case framework.Refused:
			err = e.Err
		}
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
