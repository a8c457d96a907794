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
	if c.String("output") == "json" {
		return seeList[api.Task](ctx, cl, "/v1/tasks", "tasks", query, nil)
	}
	return seeTaskPages(ctx, cl, query)
}

// firstTasks is how many tasks the first page has: few, so that it is there at
// once. The others are as large as the masters make them.
const firstTasks = "1000"

// seeTaskPages draws each page of the list when it has come: there may be
// 100,000 tasks.
func seeTaskPages(ctx context.Context, cl *client, query url.Values) (sight, error) {
	more := func(ctx context.Context, next string) ([]byte, error) {
		query.Del("limit")
		if next == "" {
			query.Set("limit", firstTasks)
		} else {
			query.Set("next", next)
		}
		return cl.Read(ctx, "/v1/tasks?"+query.Encode())
	}
	text, err := more(ctx, "")
	return sight{draw: func(p *page) error { return drawTaskPages(ctx, p, text, more) }}, err
}

// taskPage is one answer, decoded.
type taskPage struct {
	api.Tasks
	err error
}

// drawTaskPages draws the first page of a list of tasks, and those that more
// returns: the next one is asked for and decoded while one is drawn.
func drawTaskPages(ctx context.Context, p *page, text []byte, more func(ctx context.Context, next string) ([]byte, error)) error {
	first := decodeTasks(text, nil)
	if first.err != nil {
		return first.err
	}
	if len(first.Tasks.Tasks) == 0 && first.Next == "" {
		p.printf("no tasks\n")
		return nil
	}
	table := longTable{page: p}
	table.add(taskTable(first.Tasks.Tasks, p.now))
	if first.Next == "" || p.full() {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan taskPage)
	go readTasks(ctx, first.Next, more, pages)
	defer func() {
		cancel()
		for range pages { // until the goroutine has ended
		}
	}()
	if err := p.pass(); err != nil {
		return err
	}
	for part := range pages {
		if part.err != nil {
			return part.err
		}
		table.add(taskTable(part.Tasks.Tasks, p.now))
		if err := p.pass(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readTasks sends the pages after one, the last of them or one with an error
// at the end, and closes the channel.
func readTasks(ctx context.Context, next string, more func(ctx context.Context, next string) ([]byte, error), pages chan<- taskPage) {
	defer close(pages)
	for next != "" {
		part := decodeTasks(more(ctx, next))
		select {
		case pages <- part:
		case <-ctx.Done():
			return
		}
		next = part.Next
	}
}

// decodeTasks reads an answer, or the error that came in its place.
func decodeTasks(text []byte, err error) (part taskPage) {
	if err == nil {
		if err = json.Unmarshal(text, &part.Tasks); err != nil {
			err = fmt.Errorf("the master's list of tasks can't be read: %w", err)
		}
	}
	if part.err = err; err != nil {
		part.Next = ""
	}
	return part
}

// taskTable is the heading of a list of tasks and its rows.
func taskTable(list []api.Task, now time.Time) (heading row, rows []row) {
	for i := range list {
		t := &list[i]
		rows = append(rows, row{string(t.ID), t.Name, string(t.State), endOf(t), string(t.Framework), string(t.Agent), askedBy(&t.Resources), held(t),
			t.Reason, t.Message, age(now, when(t.Created))})
	}
	return row{"ID", "NAME", "STATE", "EXIT", "FRAMEWORK", "AGENT", "RESOURCES", "+DEVICES", "+REASON", "+MESSAGE", "AGE"}, rows
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
