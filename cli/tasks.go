package cli

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
)

func tasksCommand() *cli.Command {
	return &cli.Command{
		Name: "tasks", Category: lookGroup, Usage: "the tasks, or one of them", ArgsUsage: "[ID]",
		Description: examples("ringmaster tasks --state running", "ringmaster tasks -o wide --watch", "ringmaster tasks build-7"),
		Flags: lookFlags(
			&cli.StringFlag{Name: "state", Usage: "only those in `STATE`, such as running or failed"},
			&cli.StringFlag{Name: "framework", Usage: "only those of the framework `ID`"},
			&cli.StringFlag{Name: "agent", Usage: "only those on the agent `ID`"},
			&cli.StringFlag{Name: "role", Usage: "only those of `ROLE`"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) { return seeTasks(ctx, c, cl) })
		},
	}
}

func seeTasks(ctx context.Context, c *cli.Context, cl *client) (sight, error) {
	if c.Args().Present() {
		path, err := cl.taskPath(ctx, c.Args().First())
		if err != nil {
			return sight{}, err
		}
		return seeOne(ctx, cl, path, drawTask)
	}
	query := filters(c, "state", "role")
	for _, kind := range []string{"framework", "agent"} {
		if text := c.String(kind); text != "" {
			t, err := cl.find(ctx, kind+"s", text)
			if err != nil {
				return sight{}, err
			}
			query.Set(kind, t.ID)
		}
	}
	return seeTaskPages(ctx, cl, query)
}

func drawTask(p *page, t api.Task) {
	p.fields("id", string(t.ID), "name", t.Name, "state", string(t.State), "exit", endOf(&t), "reason", t.Reason, "message", t.Message,
		"framework", string(t.Framework), "agent", string(t.Agent), "resources", askedBy(&t.Resources), "devices", held(&t),
		"created", moment(p.now, when(t.Created)), "started", moment(p.now, when(t.Started)), "finished", moment(p.now, when(t.Finished)))
	if len(t.History) == 0 {
		return
	}
	var rows []row
	for _, e := range t.History {
		rows = append(rows, row{e.Time.UTC().Format(time.RFC3339), strings.TrimPrefix(string(e.Type), "task_"), e.State, detail(&events.Event{
			Type: e.Type, Reason: e.Reason, Message: e.Message, ExitCode: e.ExitCode, Signal: e.Signal, Healthy: e.Healthy,
		})})
	}
	p.printf("\n")
	p.table(row{"TIME", "EVENT", "STATE", "WHY"}, rows)
}

// endOf is the exit code or signal of a task that ended.
func endOf(t *api.Task) string {
	switch {
	case t.Signal != "":
		return t.Signal
	case t.ExitCode != nil:
		return fmt.Sprint(*t.ExitCode)
	}
	return ""
}

// held is the devices of a task.
func held(t *api.Task) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(t.Devices)) {
		for _, g := range t.Devices[class] {
			parts = append(parts, fmt.Sprintf("%s %s", g.ID, size(g.Memory)))
		}
	}
	return strings.Join(parts, ", ")
}

func moment(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format(time.RFC3339), age(now, t))
}

// taskQuery is the query of one stream of a task's output.
func taskQuery(stream string) string { return url.Values{"stream": {stream}}.Encode() }
