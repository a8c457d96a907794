package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
)

func jobLogsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "what the instances of a job wrote, each line behind its instance", ArgsUsage: "NAME [INSTANCE...]",
		Description: examples("ringmaster job logs hello", "ringmaster job logs -f hello 2", "ringmaster job logs --stderr hello") +
			"\n\nIt shows the last launch of each instance; ringmaster logs shows any task.",
		Flags: clientFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the tasks end or Ctrl-C"},
			&cli.BoolFlag{Name: "stderr", Usage: "their standard error instead of their standard output"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, -1); err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			name, err := cl.jobNamed(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			d, err := cl.tellJob(c.Context, http.MethodGet, jobPath(name), nil)
			if err != nil {
				return err
			}
			shown, err := instancesNamed(d, c.Args().Slice()[1:])
			if err != nil {
				return err
			}
			return showJobLogs(c, cl, d, shown)
		},
	}
}

// instancesNamed returns those of a job that were launched and are named, all
// where none is.
func instancesNamed(d *jobDetail, names []string) ([]scheduler.InstanceView, error) {
	var out []scheduler.InstanceView
	for _, in := range d.Instances {
		if in.Task != "" && (len(names) == 0 || slices.Contains(names, instanceName(&in))) {
			out = append(out, in)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(d.Instances, func(in scheduler.InstanceView) bool { return instanceName(&in) == name }) {
			return nil, fmt.Errorf("%s has no instance %q; see ringmaster job status %s", d.Name, name, d.Name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing of %s was launched yet; see ringmaster job status %s", d.Name, d.Name)
	}
	return out, nil
}

// maxFollowed bounds the streams that are open at once.
const maxFollowed = 100

// showJobLogs copies the streams: all at once where they are followed, else
// one after the other. One that can't be read is told and does not stop the rest.
func showJobLogs(c *cli.Context, cl *client, d *jobDetail, list []scheduler.InstanceView) error {
	follow := c.Bool("follow")
	if follow && len(list) > maxFollowed {
		return usagef("%d instances can't be followed at once, at most %d: name some", len(list), maxFollowed)
	}
	stream, out := "stdout", c.App.Writer
	if c.Bool("stderr") {
		stream = "stderr"
	}
	var mu sync.Mutex
	var following sync.WaitGroup
	failed := 0
	for _, in := range list {
		f := jobFollower(cl, d, &in, stream, follow, len(list) > 1, out, &mu)
		copyOne := func() {
			if err := f.run(c.Context); err != nil && c.Context.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				failed++
				fmt.Fprintf(c.App.ErrWriter, "ringmaster: the %s of %s can't be read: %v\n", stream, in.Task, err)
			}
		}
		if follow {
			following.Go(copyOne)
		} else {
			copyOne()
		}
	}
	following.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %s could not be read", failed, plural(len(list), "log"))
	}
	return context.Cause(c.Context)
}

func jobFollower(cl *client, d *jobDetail, in *scheduler.InstanceView, stream string, follow, prefixed bool, out io.Writer, mu *sync.Mutex) *follower {
	ref := thing{ID: string(in.Task), Framework: string(d.Framework)}
	f := &follower{
		path: "/v1/tasks/" + url.PathEscape(ref.ref()) + "/logs", stream: stream, once: !follow,
		client: cl.another(), to: out, mu: mu,
	}
	if prefixed {
		f.prefix = "[" + instanceName(in) + "] "
	}
	return f
}
