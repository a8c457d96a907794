package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

func jobRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run a job file and show how it goes", ArgsUsage: "FILE",
		Description: examples(
			helloFile,
			"ringmaster job run hello.yaml",
			"ringmaster job run --detach hello.yaml",
			"ringmaster job run - < hello.yaml") +
			"\n\nIt exits with 0 when every instance has ended with exit code 0, and with 1 otherwise. Ctrl-C" +
			"\nleaves the job running.",
		Flags:  clientFlags(&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "do not wait for the end"}),
		Action: aboutJobFile(runJobFile),
	}
}

// aboutJobFile is the action of a command that asks the masters about the job
// file that is its one argument.
func aboutJobFile(do func(c *cli.Context, cl *client, j *spec.Job) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if err := wantArgs(c, 1, 1); err != nil {
			return err
		}
		if err := wantWord(c); err != nil {
			return err
		}
		j, err := readJobFile(c, c.Args().First())
		if err != nil {
			return err
		}
		cl, err := newClient(c)
		if err != nil {
			return err
		}
		return do(c, cl, j)
	}
}

// readJobFile reads a job file, - being standard input. Its mistakes are
// wrong usage: FILE:LINE:COLUMN: what is wrong.
func readJobFile(c *cli.Context, path string) (*spec.Job, error) {
	text, err := readText(c, path)
	if err != nil {
		return nil, err
	}
	j, err := spec.Parse(text, filepath.Dir(path))
	if err != nil {
		var at *spec.Error
		if errors.As(err, &at) && at.Line > 0 {
			return nil, usagef("%s:%w", path, err)
		}
		return nil, usagef("%s: %w", path, err)
	}
	return j, nil
}

func readText(c *cli.Context, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(c.App.Reader, 1<<20))
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path)
	}
	return text, err
}

func runJobFile(c *cli.Context, cl *client, j *spec.Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	d, err := cl.tellJob(c.Context, http.MethodPut, jobPath(j.Name), body)
	if err != nil {
		return err
	}
	return attendJob(c, cl, d)
}

// attendJob follows what becomes of a job, unless nobody wants to wait.
func attendJob(c *cli.Context, cl *client, d *jobDetail) error {
	if d.Type == spec.Cron {
		_, err := fmt.Fprintf(c.App.Writer, "%s is scheduled: it runs next at %s\n", d.Name, due(d.Next))
		return err
	}
	if c.Bool("detach") {
		_, err := fmt.Fprintf(c.App.Writer, "%s runs: run %d, %s; see ringmaster job status %s\n", d.Name, d.Run, plural(d.Total, "instance"), d.Name)
		return err
	}
	m := &monitor{client: cl, name: d.Name, run: d.Run, version: d.Version, out: c.App.Writer}
	if d.Rollout != nil {
		m.last = d.Rollout.First // what was before is not of interest
	}
	err := m.follow(c.Context)
	if err != nil && c.Context.Err() != nil {
		fmt.Fprintf(c.App.ErrWriter, "\n%s goes on; see ringmaster job status %s, or ringmaster job stop %s\n", d.Name, d.Name, d.Name)
		return exitCause(c.Context)
	}
	return err
}

// monitor shows how a run goes, one line for each thing that happens.
type monitor struct {
	client  *client
	name    string
	run     int
	version int // of a service
	out     io.Writer

	began   time.Time // of the present wait for room
	why     string    // that was told of it
	asked   time.Time // when that was found out
	last    uint64    // event that was shown
	counted string    // the last line of counts
	told    time.Time // when it was written
}

// fewInstances is up to how many instances every change has a line of its own.
const fewInstances = 20

// follow returns nil when the run is complete.
func (m *monitor) follow(ctx context.Context) error {
	var since uint64
	for {
		d, err := m.client.watchJob(ctx, m.name, since)
		if err != nil {
			return err
		}
		since = d.Changed
		if d.Run != m.run {
			return fmt.Errorf("%s was run anew meanwhile: run %d; see ringmaster job status %s", m.name, d.Run, m.name)
		}
		if err := m.show(ctx, d); err != nil {
			return err
		}
		if d.State.Ended() {
			return m.end(d)
		}
		if o := d.Rollout; o != nil {
			if over, err := m.rolled(d); over || err != nil {
				return err
			}
		}
	}
}

func (m *monitor) show(ctx context.Context, d *jobDetail) error {
	for _, e := range d.Events {
		if e.Number <= m.last || e.Run != m.run {
			continue
		}
		m.last = e.Number
		if d.Total > fewInstances && e.Task != "" && !trouble(&e) {
			continue
		}
		if _, err := fmt.Fprintln(m.out, eventLine(&e)); err != nil {
			return err
		}
	}
	if err := m.count(d); err != nil {
		return err
	}
	return m.wait(ctx, d)
}

func trouble(e *scheduler.Event) bool {
	return e.State.Terminal() && e.State != "finished" || e.State == "unreachable"
}

// count writes how many instances are where, for many of them, not more often
// than once a second.
func (m *monitor) count(d *jobDetail) error {
	text := jobCounts(&d.View)
	if d.Total <= fewInstances || text == m.counted || time.Since(m.told) < time.Second && !d.State.Ended() {
		return nil
	}
	m.counted, m.told = text, time.Now()
	_, err := fmt.Fprintf(m.out, "%s  %s\n", m.told.Format("15:04:05"), text)
	return err
}

// wait says what instances wait for that have waited a while, and again when
// that is another reason.
func (m *monitor) wait(ctx context.Context, d *jobDetail) error {
	now := time.Now()
	switch {
	case d.Demanded == 0:
		m.began, m.why = time.Time{}, ""
		return nil
	case m.began.IsZero():
		m.began = now
	}
	if now.Sub(m.began) < waitNotice || now.Sub(m.asked) < waitNotice {
		return nil
	}
	m.asked = now
	why := m.client.whyJobWaits(ctx, d)
	if why == m.why || ctx.Err() != nil {
		return nil
	}
	m.why = why
	_, err := fmt.Fprintf(m.out, "%s  %s for room: %s\n", now.Format("15:04:05"), waits(d.Demanded), why)
	return err
}

func waits(n int) string {
	if n == 1 {
		return "1 instance waits"
	}
	return fmt.Sprintf("%d instances wait", n)
}

// end says how the run ended; a run that is not complete is an error.
func (m *monitor) end(d *jobDetail) error {
	took := d.Ended.Sub(d.Created).Round(10 * time.Millisecond)
	if d.State == scheduler.Complete {
		_, err := fmt.Fprintf(m.out, "%s is complete: %s in %s\n", m.name, plural(d.Total, "instance"), took)
		return err
	}
	if n := d.Counts[string(scheduler.Broken)]; n > 0 {
		return fmt.Errorf("%s has failed: %d of %s after %s; see ringmaster job logs %s --stderr", m.name, n, plural(d.Total, "instance"), took, m.name)
	}
	return fmt.Errorf("%s was stopped after %s", m.name, took)
}

// rolled reports whether the version that is followed is everywhere; one that
// is not, and won't be, is an error.
func (m *monitor) rolled(d *jobDetail) (over bool, err error) {
	o := d.Rollout
	took := o.Ended.Sub(o.Began).Round(10 * time.Millisecond)
	switch {
	case o.To != m.version && o.Auto && o.State == scheduler.Rolled:
		return true, fmt.Errorf("version %d of %s was given up, version %d is back everywhere; see ringmaster job history %s", m.version, m.name, o.From, m.name)
	case o.To != m.version && !o.Auto:
		return true, fmt.Errorf("somebody has changed %s meanwhile: version %d; see ringmaster job history %s", m.name, o.To, m.name)
	case o.State == scheduler.GivenUp && (o.Auto || o.From == 0 || d.Job.Update.OnFailure == "pause"):
		return true, fmt.Errorf("version %d of %s is given up: %s; what runs of it goes on, see ringmaster job status %s", o.To, m.name, o.Why, m.name)
	case o.State == scheduler.Rolled:
		// There may be more of them for a moment, which are being ended.
		_, err := fmt.Fprintf(m.out, "%s is up: %s of version %d, in %s\n", m.name, plural(d.Job.Instances(), "instance"), o.To, took)
		return true, err
	}
	return false, nil
}
