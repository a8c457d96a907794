package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name: "events", Category: lookGroup, Usage: "what changes, as it happens",
		Description: examples("ringmaster events", "ringmaster events --type task_ended,agent -o json", "ringmaster events --task build-7 --follow=false"),
		Flags: clientFlags(
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json, one event a line", Value: "table"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f", "watch", "w"}, Usage: "go on until Ctrl-C, whatever becomes of the connection; false ends with what the masters still keep", Value: true},
			&cli.StringFlag{Name: "after", Usage: "begin after the event `ID`, or with the oldest one that is kept", DefaultText: "now; oldest with --follow=false"},
			&cli.StringFlag{Name: "type", Usage: "only `TYPES,...`, such as task_ended; task, agent, framework, role, leader and offer are all of theirs; those of offers come only if they are named"},
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
	r := &eventReader{client: cl, query: query, hear: func(data []byte) error {
		text, err := eventText(c, data)
		if err != nil {
			return err
		}
		if !quiet { // the first is the beginning; after it nothing may come for long
			fmt.Fprintf(c.App.ErrWriter, "connected to %s; what changes is shown as it happens, until Ctrl-C\n", cl.heard)
			quiet = true
		}
		_, err = c.App.Writer.Write(text)
		return err
	}}
	if err := r.run(c.Context); c.Context.Err() == nil {
		return err
	}
	return nil
}

// eventView is an event as the command line shows it.
type eventView struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Time      time.Time `json:"time"`
	Framework string    `json:"framework_id"`
	Task      string    `json:"task_id"`
	Agent     string    `json:"agent_id"`
	Offer     string    `json:"offer_id"`
	Demand    string    `json:"demand_id"`
	Role      string    `json:"role"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	ExitCode  *int      `json:"exit_code"`
	Signal    string    `json:"signal"`
	Healthy   *bool     `json:"healthy"`
	Deadline  time.Time `json:"deadline"`
	Address   string    `json:"address"`
	Term      uint64    `json:"term"`
}

// eventText is one event on its way to a reader: a line.
func eventText(c *cli.Context, data []byte) ([]byte, error) {
	var e eventView
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("the master's event %.200q can't be read: %w", data, err)
	}
	if e.Type == "begin" {
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
	p.printf("%-*s  %-22s  %-28s  %s%s  %s", width, when, e.Type, plain(e.subject()),
		p.paint(state, false), strings.Repeat(" ", max(0, len("unreachable")-len(state))), plain(e.detail()))
	line := strings.TrimRight(p.text.String(), " ")
	return append([]byte(line), '\n'), nil
}

// subject is what an event is about.
func (e *eventView) subject() string {
	switch {
	case e.Offer != "":
		return e.Framework + ":" + e.Offer
	case e.Task != "":
		return e.Framework + ":" + e.Task
	case e.Agent != "":
		return named(e.Agent, e.Name)
	case e.Framework != "":
		return named(e.Framework, e.Name)
	}
	return cmp.Or(e.Role, e.Name, "-")
}

func named(id, name string) string {
	if name == "" || name == id {
		return id
	}
	return id + " (" + name + ")"
}

// detail is what there is to say beside the state.
func (e *eventView) detail() string {
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
	add(e.Reason)
	add(e.Message)
	if e.Task != "" && e.Type == "task_launched" {
		add("on " + e.Agent)
	}
	if e.Offer != "" {
		add("on " + e.Agent + " for " + e.Demand)
	} else if !e.Deadline.IsZero() {
		add("removed at " + e.Deadline.UTC().Format(time.RFC3339))
	}
	if e.Term > 0 {
		add(fmt.Sprintf("at %s, term %d", e.Address, e.Term))
	}
	return strings.Join(parts, ", ")
}
