package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func jobPlanCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "what running a job file would change, and where its instances would go", ArgsUsage: "FILE",
		Description: examples(helloFile, "ringmaster job plan hello.yaml") +
			"\n\nThe masters themselves find the places, by what decides in them, and nobody is offered anything for it." +
			"\nIt exits with 1 when not all instances would have room now.",
		Flags: clientFlags(),
		Action: aboutJobFile(func(c *cli.Context, cl *client, j *spec.Job) error {
			p := newPage(c)
			placed, err := planJob(c.Context, cl, p, j)
			if _, werr := c.App.Writer.Write(p.text.Bytes()); err == nil {
				err = werr
			}
			if err == nil && !placed {
				return exitError(1)
			}
			return err
		}),
	}
}

// planJob draws the difference and the places; placed says that every instance
// that would be launched has one.
func planJob(ctx context.Context, cl *client, p *page, j *spec.Job) (placed bool, err error) {
	have, err := cl.jobThere(ctx, j.Name)
	if err != nil {
		return false, err
	}
	if err := drawDifference(p, have, j); err != nil {
		return false, err
	}
	return drawPlaces(ctx, cl, p, have, j)
}

// jobThere returns the job of a name, nil where there is none.
func (cl *client) jobThere(ctx context.Context, name string) (*jobDetail, error) {
	d, err := cl.watchJob(ctx, name, 0)
	var answer *api.AnswerError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound && answer.Cause.Code == offers.UnknownJob {
		return nil, nil
	}
	return d, err
}

func drawDifference(p *page, have *jobDetail, j *spec.Job) error {
	if have == nil {
		p.printf("+ job %s is new: %s, %s\n", j.Name, j.Kind(), plural(instances(j), "instance"))
		return nil
	}
	before, err := flat(have.Job)
	if err != nil {
		return err
	}
	after, err := flat(*j)
	if err != nil {
		return err
	}
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(before)) {
		switch now, kept := after[path]; {
		case !kept:
			lines = append(lines, fmt.Sprintf("  - %s: %s", path, before[path]))
		case now != before[path]:
			lines = append(lines, fmt.Sprintf("  ~ %s: %s -> %s", path, before[path], now))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[path]; !known {
			lines = append(lines, fmt.Sprintf("  + %s: %s", path, after[path]))
		}
	}
	if len(lines) == 0 {
		p.printf("= job %s is %s with version %d, the same file\n", j.Name, have.State, have.Version)
		return nil
	}
	p.printf("~ job %s is %s with version %d, another file:\n", j.Name, have.State, have.Version)
	for _, l := range lines {
		p.printf("%s\n", l)
	}
	return nil
}

func instances(j *spec.Job) int {
	n := 0
	for _, w := range parts(j) {
		n += w.Instances()
	}
	return n
}

// flat returns the fields of a job by their paths, values as JSON.
func flat(j spec.Job) (map[string]string, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	out := map[string]string{}
	flatten(out, "", whole)
	return out, nil
}

func flatten(out map[string]string, path string, section map[string]json.RawMessage) {
	for name, raw := range section {
		at := name
		if path != "" {
			at = path + "." + name
		}
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil && inner != nil {
			flatten(out, at, inner)
			continue
		}
		out[at] = string(raw)
	}
}

// part is one step of a job, or all of it.
type part struct {
	*spec.Work
	step string
}

func parts(j *spec.Job) []part {
	if len(j.Steps) == 0 {
		return []part{{&j.Work, ""}}
	}
	out := make([]part, len(j.Steps))
	for i := range j.Steps {
		out[i] = part{&j.Steps[i].Work, j.Steps[i].Name}
	}
	return out
}

// toPlace returns how many instances of a part would be launched at once.
func toPlace(have *jobDetail, j *spec.Job, w part) int {
	n := w.Instances()
	if w.Parallelism > 0 {
		n = min(n, w.Parallelism)
	}
	if have == nil || have.State.Ended() || j.Kind() == spec.Cron {
		return n
	}
	old, now := have.Job, *j
	old.Count, now.Count = 0, 0
	a, errA := json.Marshal(old)
	b, errB := json.Marshal(now)
	if errA == nil && errB == nil && string(a) == string(b) {
		return max(0, n-have.Job.Instances())
	}
	return n
}

// jobsRole returns the role of the jobs framework.
func (cl *client) jobsRole(ctx context.Context) (offers.Role, error) {
	raw, err := cl.list(ctx, "/v1/frameworks", "frameworks", url.Values{})
	if err != nil {
		return "", err
	}
	var answer struct {
		Frameworks []struct {
			Role   offers.Role       `json:"role"`
			Labels map[string]string `json:"labels"`
		} `json:"frameworks"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("the master's list of frameworks can't be read: %w", err)
	}
	for _, f := range answer.Frameworks {
		if f.Labels[jobs.Label] != "" {
			return f.Role, nil
		}
	}
	return "default", nil
}
