package scheduler

import "fmt"

// Check verifies the invariants of a scheduler for the tests.
func (s *Scheduler) Check() error {
	for name, j := range s.jobs {
		if j.Name != name || len(j.Versions) == 0 || len(j.runs) == 0 && !j.timed() {
			return fmt.Errorf("job %s is called %q and has %d versions and %d runs", name, j.Name, len(j.Versions), len(j.runs))
		}
		for _, r := range j.runs {
			if err := s.checkRun(r); err != nil {
				return fmt.Errorf("run %d of %s: %w", r.Number, name, err)
			}
		}
	}
	return nil
}

func (s *Scheduler) checkRun(r *run) error {
	if r.Number > r.job.Runs || r.job.version(r.Version) == nil && !r.State.Ended() {
		return fmt.Errorf("it is not among %d runs, or its version %d is not known", r.job.Runs, r.Version)
	}
	for _, g := range r.groups {
		waiting := 0
		for i := range g.instances {
			in := &g.instances[i]
			switch {
			case in.Phase == Waiting:
				waiting++
			case in.Phase == Launched && in.Attempt == 0:
				return fmt.Errorf("instance %d is launched and never was", i)
			}
			if g.gang() && r.State == Complete && in.Attempt != g.instances[0].Attempt {
				return fmt.Errorf("instance %d of a gang that is complete was launched %d times, the first %d times", i, in.Attempt, g.instances[0].Attempt)
			}
			if r.State.Ended() && !in.Phase.ended() {
				return fmt.Errorf("instance %d is %q in a run that has ended", i, in.Phase)
			}
		}
		if g.asked < 0 || g.asked > waiting {
			return fmt.Errorf("%d units are asked for and %d instances wait", g.asked, waiting)
		}
		if (g.asked > 0) != (s.byDemand[g.demandID()] == g) {
			return fmt.Errorf("%d units are asked for, and the demand is known: %v", g.asked, s.byDemand[g.demandID()] == g)
		}
	}
	return nil
}
