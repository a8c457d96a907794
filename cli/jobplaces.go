package cli

import (
	"context"
	"fmt"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/master/api"
)

// drawPlaces asks the masters where the instances of each part of a job would
// go, and shows it.
func drawPlaces(ctx context.Context, cl *client, p *page, have *jobDetail, j *spec.Job) (placed bool, err error) {
	role, err := cl.jobsRole(ctx)
	if err != nil {
		return false, err
	}
	placed = true
	for _, w := range parts(j) {
		n := toPlace(have, j, w)
		if n == 0 {
			p.printf("\nnothing of it would be launched now")
			if have.Demanded > 0 && have.Step == w.step {
				placed = false
				p.printf("; %s", cl.waitsForRoom(ctx, have))
			}
			p.printf("\n")
			continue
		}
		e, err := cl.explainWish(ctx, role, w.Wish("plan", n))
		if err != nil {
			return false, err
		}
		if w.Container != nil {
			p.printf("\nasked of the agents too: docker==true, since instances run in containers\n")
		}
		if e.Gang && e.Missing > 0 {
			placed = false
			p.printf("\nnone of a gang of %d starts now: %s\n", e.Units, gangShortage(&e))
			continue
		}
		drawPart(p, w, &e)
		if e.Missing > 0 {
			placed = false
			p.printf("%s no room now: %s\n", getNo(e.Missing), shortage(e.Missed))
		}
		if e.Untried > 0 {
			p.printf("%s more were not tried\n", plural(e.Untried, "instance"))
		}
	}
	return placed, nil
}

func getNo(n int) string {
	if n == 1 {
		return "1 instance gets"
	}
	return fmt.Sprintf("%d instances get", n)
}

// drawPart shows where the instances of a part would go.
func drawPart(p *page, w part, e *api.Explanation) {
	name := ""
	if w.step != "" {
		name = w.step + "."
	}
	var rows []row
	at := 0
	for _, place := range e.Places {
		which := fmt.Sprintf("%s%d", name, at)
		if place.Units > 1 {
			which += fmt.Sprintf("-%d", at+place.Units-1)
		}
		at += place.Units
		rows = append(rows, row{which, place.Agent.Name, place.Agent.Host, fmt.Sprintf("%s, in ring %d of %s", e.Prefers, place.Ring.Index, place.Ring.Resource)})
	}
	if len(rows) > 0 {
		p.printf("\n")
		p.table(row{"INSTANCE", "AGENT", "HOST", "WHY"}, rows)
	}
	if rest := w.Instances() - e.Units; rest > 0 && w.Parallelism > 0 {
		p.printf("%s more when others have ended\n", plural(rest, "instance"))
	}
}
