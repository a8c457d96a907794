package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs"
	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/offers"
)

func jobCommand() *cli.Command {
	return &cli.Command{
		Name: "job", Category: workGroup, Usage: "run job files and follow them",
		Description: examples(helloFile, "ringmaster job run hello.yaml", "ringmaster job list", "ringmaster job status hello", "ringmaster job logs hello"),
		Subcommands: []*cli.Command{jobRunCommand(), jobPlanCommand(), jobStatusCommand(), jobListCommand(), jobLogsCommand(), jobStopCommand(),
			jobScaleCommand(), jobRollbackCommand(), jobHistoryCommand(), jobSchemaCommand()},
	}
}

// helloFile makes the job file of the examples.
const helloFile = `printf 'name: hello\ncount: 3\ncommand: echo hello\nresources: {cpus: 0.1, mem: 16MiB}\n' > hello.yaml`

// jobView is a job as the jobs framework shows it.
type jobView = scheduler.View

// jobDetail is all of one job.
type jobDetail = jobs.Detail

func jobListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "the jobs",
		Description: examples("ringmaster job list", "ringmaster job list --watch"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				return seeList(ctx, cl, "/v1/jobs", "jobs", url.Values{}, drawJobs)
			})
		},
	}
}

func drawJobs(p *page, list []jobView) {
	var rows []row
	for _, j := range list {
		rows = append(rows, row{j.Name, string(j.Type), string(j.State), jobCounts(&j), fmt.Sprint(j.Run), fmt.Sprint(j.Version), age(p.now, j.Created)})
	}
	p.table(row{"NAME", "TYPE", "STATE", "INSTANCES", "RUN", "VERSION", "AGE"}, rows)
}

func jobCounts(j *jobView) string {
	return counts(j.Counts, "waiting", "staging", "starting", "running", "unreachable", "killing", "done", "failed", "stopped", "skipped")
}

func jobStatusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "one job: its instances and what happened lately; or all jobs", ArgsUsage: "[NAME]",
		Description: examples("ringmaster job status hello", "ringmaster job status hello -o wide --watch"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				if !c.Args().Present() {
					return seeList(ctx, cl, "/v1/jobs", "jobs", url.Values{}, drawJobs)
				}
				name, err := cl.jobNamed(ctx, c.Args().First())
				if err != nil {
					return sight{}, err
				}
				return seeOne(ctx, cl, jobPath(name), func(p *page, d jobDetail) { drawJob(ctx, cl, p, &d) })
			})
		},
	}
}

func jobPath(name string) string { return "/v1/jobs/" + url.PathEscape(name) }

// jobNamed returns the name of the job that text is the name or a unique
// beginning of.
func (cl *client) jobNamed(ctx context.Context, text string) (string, error) {
	t, err := cl.find(ctx, "jobs", text)
	return t.ID, err
}

// jobEvents is how many of the latest events status shows.
const jobEvents = 10

func drawJob(ctx context.Context, cl *client, p *page, d *jobDetail) {
	why := ""
	if d.Demanded > 0 {
		why = cl.waitsForRoom(ctx, d)
	}
	p.fields("name", d.Name, "type", string(d.Type), "state", string(d.State), "instances", jobCounts(&d.View), "", why,
		"run", fmt.Sprint(d.Run), "version", fmt.Sprint(d.Version), "next", due(d.Next), "began", moment(p.now, d.Created), "ended", moment(p.now, d.Ended))
	var rows []row
	for _, in := range d.Instances {
		rows = append(rows, row{instanceName(&in), in.State, string(in.Task), in.Last.Host, instanceEnd(&in), fmt.Sprint(in.Attempt), portsText(in.Last.Ports), in.Item, in.Last.Message})
	}
	if len(rows) > 0 {
		p.printf("\n")
		p.table(row{"INSTANCE", "STATE", "TASK", "AGENT", "EXIT", "LAUNCHES", "+PORTS", "+ITEM", "+MESSAGE"}, rows)
	}
	if len(d.Events) > 0 {
		p.printf("\n")
	}
	for _, e := range d.Events[max(0, len(d.Events)-jobEvents):] {
		p.printf("%s\n", eventLine(&e))
	}
}

// due is a time to come, for people.
func due(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime + " MST")
}

func instanceName(in *scheduler.InstanceView) string {
	if in.Step != "" {
		return fmt.Sprintf("%s.%d", in.Step, in.Index)
	}
	return fmt.Sprint(in.Index)
}

func portsText(p offers.Ports) string { return strings.Trim(fmt.Sprint(p.Each()), "[]") }

func instanceEnd(in *scheduler.InstanceView) string {
	switch {
	case in.Last.Signal != "":
		return in.Last.Signal
	case in.Last.ExitCode != nil:
		return fmt.Sprint(*in.Last.ExitCode)
	}
	return ""
}

// eventLine is one event for people: when, what, how.
func eventLine(e *scheduler.Event) string {
	text := e.Time.Local().Format("15:04:05")
	if e.Task != "" {
		text += fmt.Sprintf("  %s %s", e.Task, e.State)
		if e.Text != "" {
			return text + ": " + e.Text
		}
		return text
	}
	return text + "  " + e.Text
}

func jobStopCommand() *cli.Command {
	return &cli.Command{
		Name: "stop", Usage: "end a job: what runs of it is killed", ArgsUsage: "NAME",
		Description: examples("ringmaster job stop hello", "ringmaster job stop hello --purge     # and forget it"),
		Flags: clientFlags(
			&cli.BoolFlag{Name: "purge", Usage: "forget the job once it has ended; the next of that name counts its runs on from there"},
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "do not wait for its end"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if c.Bool("purge") && c.Bool("detach") {
				return usagef("--purge waits for the job's end: leave --detach out")
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			return stopJob(c, cl)
		},
	}
}

func stopJob(c *cli.Context, cl *client) error {
	name, err := cl.jobNamed(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	d, err := cl.tellJob(c.Context, http.MethodPost, jobPath(name)+"/stop", []byte("{}"))
	if err != nil {
		return err
	}
	for !c.Bool("detach") && !d.State.Ended() {
		if d, err = cl.watchJob(c.Context, name, d.Changed); err != nil {
			return err
		}
	}
	if !c.Bool("purge") {
		_, err = fmt.Fprintf(c.App.Writer, "%s is %s\n", name, d.State)
		return err
	}
	if _, err := cl.Send(c.Context, http.MethodPost, jobPath(name)+"/purge", []byte("{}")); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s is forgotten\n", name)
	return err
}

// tellJob sends a wish and returns the job as it is then.
func (cl *client) tellJob(ctx context.Context, method, path string, body []byte) (*jobDetail, error) {
	raw, err := cl.Send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	var d jobDetail
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("the jobs framework's answer can't be read: %w", err)
	}
	return &d, nil
}

// watchJob returns the job, without its instances, when it has changed since, or
// after a while; at once where since is 0.
func (cl *client) watchJob(ctx context.Context, name string, since uint64) (*jobDetail, error) {
	return cl.tellJob(ctx, http.MethodGet, fmt.Sprintf("%s?brief=true&after=%d", jobPath(name), since), nil)
}
