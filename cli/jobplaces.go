package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// planPatience is how long a plan waits for room, from the last that came.
const planPatience = time.Second

// drawPlaces asks the masters for the room of each part of a job, shows where
// it is, and gives it back.
func drawPlaces(ctx context.Context, cl *client, p *page, have *jobDetail, j *spec.Job) (placed bool, err error) {
	role, err := cl.jobsRole(ctx)
	if err != nil {
		return false, err
	}
	soon := offers.Duration(10 * time.Second)
	fw, err := framework.Connect(ctx, framework.Config{
		Masters: cl.masters, Door: cl.door, Info: wire.FrameworkInfo{Name: "plan " + j.Name, Role: role, FailoverTimeout: &soon},
	})
	if err != nil {
		return false, err
	}
	placed = true
	for i, w := range parts(j) {
		n := toPlace(have, j, w)
		var places []wire.Offer
		if places, err = roomFor(ctx, fw, w.Work, i, n); err != nil {
			break
		}
		if left := drawPart(p, w, places, n); left > 0 {
			placed = false
			why := "the others take what there is"
			if left == n {
				why = cl.shortageOf(ctx, w.Work)
			}
			p.printf("%s no room now: %s\n", getNo(left), why)
		}
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return placed, errors.Join(err, fw.Teardown(bye))
}

func getNo(n int) string {
	if n == 1 {
		return "1 instance gets"
	}
	return fmt.Sprintf("%d instances get", n)
}

// roomFor returns offers for n instances, or as many as come within a while.
func roomFor(ctx context.Context, fw *framework.Client, w *spec.Work, part, n int) ([]wire.Offer, error) {
	if n == 0 {
		return nil, nil
	}
	id := offers.DemandID(fmt.Sprintf("plan.%d", part))
	err := fw.Demand(offers.Demand{ID: id, Resources: w.Asks(), Count: &n, Constraints: w.Constraints, Placement: w.Placement, DevicePolicy: w.DevicePolicy})
	if err != nil {
		return nil, err
	}
	defer fw.Withdraw(id)
	var found []wire.Offer
	for units := 0; units < n; {
		within, cancel := context.WithTimeout(ctx, planPatience)
		e, err := fw.Next(within)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case framework.Offered:
			for _, o := range e.Offers {
				if o.DemandID == id {
					found = append(found, o)
					units += max(1, framework.Units(o.Resources, w.Asks()))
				}
			}
		case framework.Refused:
			return nil, e.Err
		}
	}
	return found, nil
}

// drawPart shows where the instances of a part would go, and returns how many
// have no place.
func drawPart(p *page, w part, places []wire.Offer, n int) (left int) {
	if n == 0 {
		p.printf("\nnothing of it would be launched now\n")
		return 0
	}
	name := ""
	if w.step != "" {
		name = w.step + "."
	}
	var rows []row
	at := 0
	for _, o := range places {
		units := min(max(1, framework.Units(o.Resources, w.Asks())), n-at)
		which := fmt.Sprintf("%s%d", name, at)
		if units > 1 {
			which += fmt.Sprintf("-%d", at+units-1)
		}
		at += units
		rows = append(rows, row{which, o.Agent.Name, o.Agent.Host, ringText(o.Ring)})
	}
	if len(rows) > 0 {
		p.printf("\n")
		p.table(row{"INSTANCE", "AGENT", "HOST", "WHY"}, rows)
	}
	if rest := w.Instances() - n; rest > 0 && w.Parallelism > 0 {
		p.printf("%s more when others have ended\n", plural(rest, "instance"))
	}
	return n - at
}

// ringText says by which ring an agent was found.
func ringText(r *offers.RingRef) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("the closest fit in ring %d of %s", r.Index, strings.TrimSpace(r.Resource))
}
