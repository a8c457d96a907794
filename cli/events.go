package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name: "events", Category: lookGroup, Usage: "what changes, as it happens",
		Description: examples("ringmaster events", "ringmaster events --type task_ended,agent -o json", "ringmaster events --task build-7 --follow=false"),
		Flags: clientFlags(
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json, one event a line", Value: "table"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f", "watch", "w"}, Usage: "go on until Ctrl-C, whatever becomes of the connection; false ends with what the masters still keep", Value: true},
			&cli.StringFlag{Name: "after", Usage: "begin after the event `ID`, or with the oldest one that is kept", DefaultText: "now; oldest with --follow=false"},
			&cli.StringFlag{Name: "type", Usage: "only `TYPES,...`, such as task_ended; task, agent, framework, role, leader, demand and offer are all of theirs; those of demands and offers come only if they are named"},
			&cli.StringFlag{Name: "task", Usage: "only those of the task `ID`"},
			&cli.StringFlag{Name: "framework", Usage: "only those of the framework `ID`"},
			&cli.StringFlag{Name: "agent", Usage: "only those of the agent `ID`, its tasks' too"},
			&cli.StringFlag{Name: "role", Usage: "only those of `ROLE`"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour on a terminal, as NO_COLOR in the environment"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			switch c.String("output") {
			case "table", "wide", "json":
			default:
				return usagef("-o %s: it is table, wide or json", c.String("output"))
			}
			if err := wantFilters(c); err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			return showEvents(c, cl)
		},
	}
}

// showEvents writes events as they come. The end of the context is a good end.
func showEvents(c *cli.Context, cl *client) error {
	query := filters(c, "type", "role", "after")
	for _, kind := range []string{"framework", "agent", "task"} {
		if text := c.String(kind); text != "" {
			t, err := cl.find(c.Context, kind+"s", text)
			if err != nil {
				return err
			}
			query.Set(kind, t.ref())
		}
	}
	if !c.Bool("follow") {
		query.Set("follow", "false")
		query.Set("after", cmp.Or(c.String("after"), "oldest"))
	}
	quiet := !c.Bool("follow") || !isTerminal(c.App.ErrWriter)
	r := &api.Follower{Client: cl.Client, Query: query, Hear: func(data []byte) error {
		text, err := eventText(c, data)
		if err != nil {
			return err
		}
		if !quiet { // the first is the beginning; after it nothing may come for long
			fmt.Fprintf(c.App.ErrWriter, "connected to %s; what changes is shown as it happens, until Ctrl-C\n", cl.Heard())
			quiet = true
		}
		_, err = c.App.Writer.Write(text)
		return err
	}}
	if err := r.Run(c.Context); c.Context.Err() == nil {
		return err
	}
	return nil
}

// eventText is one event on its way to a reader: a line.
func eventText(c *cli.Context, data []byte) ([]byte, error) {
	e, err := api.Event(data)
	if err != nil {
		return nil, err
	}
	if e.Type == events.Begin {
		return nil, nil
	}
	if c.String("output") == "json" {
		return append(data, '\n'), nil
	}
	p := newPage(c)
	layout, width := time.TimeOnly, len(time.TimeOnly)
	if p.wide {
		p.printf("%-28s  ", e.ID)
		layout, width = time.RFC3339, len("2006-01-02T15:04:05+07:00")
	}
	when, state := "-", cmp.Or(e.State, "-")
	if !e.Time.IsZero() {
		when = e.Time.Local().Format(layout)
	}
	p.printf("%-*s  %-22s  %-28s  %s%s  %s", width, when, e.Type, plain(subject(&e)),
		p.paint(state, false), strings.Repeat(" ", max(0, len("unreachable")-len(state))), plain(detail(&e)))
	line := strings.TrimRight(p.text.String(), " ")
	return append([]byte(line), '\n'), nil
}

// subject is what an event is about.
func subject(e *events.Event) string {
	switch {
	case e.Offer != "":
		return fmt.Sprint(e.Framework, ":", e.Offer)
	case e.Demand != "":
		return fmt.Sprint(e.Framework, ":", e.Demand)
	case e.Task != "":
		return e.Ref().String()
	case e.Agent != "":
		return named(string(e.Agent), e.Name)
	case e.Framework != "":
		return named(string(e.Framework), e.Name)
	}
	return cmp.Or(string(e.Role), e.Name, "-")
}

func named(id, name string) string {
	if name == "" || name == id {
		return id
	}
	return id + " (" + name + ")"
}

// detail is what there is to say beside the state.
func detail(e *events.Event) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if e.ExitCode != nil && e.Signal == "" {
		add(fmt.Sprint("exit code ", *e.ExitCode))
	}
	add(e.Signal)
	if e.Healthy != nil {
		add(map[bool]string{true: "healthy", false: "not healthy"}[*e.Healthy])
	}
	if len(e.Stopped) > 0 {
		units := ""
		if e.Count != nil {
			units = plural(*e.Count, "unit") + ", "
		}
		add(units + "stopped by " + strings.Join(e.Stopped, ", "))
	}
	add(e.Reason)
	add(e.Message)
	for i := range e.Reasons {
		add(plural(e.Reasons[i].Agents, "agent") + ": " + objection(&e.Reasons[i]))
	}
	if e.Task != "" && e.Type == events.TaskLaunched {
		add("on " + string(e.Agent))
	}
	if e.Offer != "" {
		add(fmt.Sprintf("on %s for %s", e.Agent, e.Demand))
	} else if !e.Deadline.IsZero() {
		add("removed at " + e.Deadline.UTC().Format(time.RFC3339))
	}
	if e.Term > 0 {
		add(fmt.Sprintf("at %s, term %d", e.Address, e.Term))
	}
	return strings.Join(parts, ", ")
}
