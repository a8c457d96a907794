package cli

import (
	"context"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
)

// whyJobWaits says why no agent has room for an instance at the moment.
func (cl *client) whyJobWaits(ctx context.Context, d *jobDetail) string {
	asking, cancel := context.WithTimeout(ctx, explainPatience)
	defer cancel()
	role, err := openClient(append([]string(nil), cl.masters...), cl.door).jobsRole(asking)
	if err != nil {
		return "the masters don't say why: " + err.Error()
	}
	return cl.whyNoRoom(ctx, role, wishOf(d.Job.Part(d.Step), 1))
}

// wishOf is what the jobs framework demands for n instances.
func wishOf(w *spec.Work, n int) offers.Demand {
	return offers.Demand{ID: "plan", Resources: w.Asks(), Count: &n, Constraints: w.Constraints, Preferences: w.Preferences, Placement: w.Placement, DevicePolicy: w.DevicePolicy}
}
