package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

type taskView struct {
	ID        string                 `json:"id"`
	Name      string                 `json:"name"`
	Framework string                 `json:"framework_id"`
	Agent     string                 `json:"agent_id"`
	State     string                 `json:"state"`
	Resources room                   `json:"resources"`
	Devices   map[string][]grantView `json:"devices"`
	ExitCode  *int                   `json:"exit_code"`
	Signal    string                 `json:"signal"`
	Reason    string                 `json:"reason"`
	Message   string                 `json:"message"`
	Created   time.Time              `json:"created"`
	Started   time.Time              `json:"started"`
	Finished  time.Time              `json:"finished"`
	History   []eventView            `json:"history"` // of one task that was asked for
}

type grantView struct {
	ID     string `json:"id"`
	Memory int64  `json:"memory"`
}

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
	if c.String("output") == "json" {
		return seeList[taskView](ctx, cl, "/v1/tasks", "tasks", query, nil)
	}
	return seeTaskPages(ctx, cl, query)
}

// seeTaskPages draws each page of the list when it has come: there may be
// 100,000 tasks.
func seeTaskPages(ctx context.Context, cl *client, query url.Values) (sight, error) {
	path := func() string { return "/v1/tasks?" + query.Encode() }
	text, err := cl.get(ctx, path())
	return sight{draw: func(p *page) error {
		table := longTable{page: p}
		for {
			var part struct {
				Tasks []taskView `json:"tasks"`
				Next  string     `json:"next"`
			}
			if err := json.Unmarshal(text, &part); err != nil {
				return fmt.Errorf("the master's list of tasks can't be read: %w", err)
			}
			if len(part.Tasks) == 0 && table.widths == nil {
				p.printf("no tasks\n")
				return nil
			}
			table.add(taskTable(part.Tasks, p.now))
			if part.Next == "" {
				return nil
			}
			if err := p.pass(); err != nil {
				return err
			}
			query.Set("next", part.Next)
			if text, err = cl.get(ctx, path()); err != nil {
				return err
			}
		}
	}}, err
}

// taskTable is the heading of a list of tasks and its rows.
func taskTable(list []taskView, now time.Time) (heading row, rows []row) {
	for _, t := range list {
		rows = append(rows, row{t.ID, t.Name, t.State, t.end(), t.Framework, t.Agent, t.Resources.String(), t.devices(),
			t.Reason, t.Message, age(now, t.Created)})
	}
	return row{"ID", "NAME", "STATE", "EXIT", "FRAMEWORK", "AGENT", "RESOURCES", "+DEVICES", "+REASON", "+MESSAGE", "AGE"}, rows
}

func drawTask(p *page, t taskView) {
	p.fields("id", t.ID, "name", t.Name, "state", t.State, "exit", t.end(), "reason", t.Reason, "message", t.Message,
		"framework", t.Framework, "agent", t.Agent, "resources", t.Resources.String(), "devices", t.devices(),
		"created", moment(p.now, t.Created), "started", moment(p.now, t.Started), "finished", moment(p.now, t.Finished))
	if len(t.History) == 0 {
		return
	}
	var rows []row
	for _, e := range t.History {
		rows = append(rows, row{e.Time.UTC().Format(time.RFC3339), strings.TrimPrefix(e.Type, "task_"), e.State, e.detail()})
	}
	p.printf("\n")
	p.table(row{"TIME", "EVENT", "STATE", "WHY"}, rows)
}

// end is the exit code or signal of a task that ended.
func (t taskView) end() string {
	switch {
	case t.Signal != "":
		return t.Signal
	case t.ExitCode != nil:
		return fmt.Sprint(*t.ExitCode)
	}
	return ""
}

func (t taskView) devices() string {
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
