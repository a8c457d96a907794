package cli

import (
	"context"
	"fmt"
)

// waitsForRoom says how many instances wait, of which there are some, and why.
func (cl *client) waitsForRoom(ctx context.Context, d *jobDetail) string {
	return fmt.Sprintf("%s for room: %s", waits(d.Demanded), cl.whyJobWaits(ctx, d))
}

// whyJobWaits says why no agent has room for an instance at the moment, or not
// all of a gang have a place.
func (cl *client) whyJobWaits(ctx context.Context, d *jobDetail) string {
	asking, cancel := context.WithTimeout(ctx, explainPatience)
	defer cancel()
	role, err := cl.another().jobsRole(asking)
	if err != nil {
		return "the masters don't say why: " + err.Error()
	}
	w := d.Job.Part(d.Step)
	return cl.whyNoRoom(ctx, role, w.Wish("plan", w.Instances()))
}
