package cli

import (
	"context"
)

// whyJobWaits says why no agent has room for an instance at the moment.
func (cl *client) whyJobWaits(ctx context.Context, d *jobDetail) string {
	asking, cancel := context.WithTimeout(ctx, explainPatience)
	defer cancel()
	role, err := openClient(append([]string(nil), cl.masters...), cl.door).jobsRole(asking)
	if err != nil {
		return "the masters don't say why: " + err.Error()
	}
	return cl.whyNoRoom(ctx, role, d.Job.Part(d.Step).Wish("plan", 1))
}
