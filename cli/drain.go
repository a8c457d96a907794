package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

func drainCommand() *cli.Command {
	return &cli.Command{
		Name: "drain", Category: operateGroup, Usage: "give an agent no more offers and end its tasks", ArgsUsage: "AGENT",
		Description: examples("ringmaster drain worker-3", "ringmaster drain worker-3 --deadline 10m", "ringmaster drain worker-3 --wait && ssh worker-3 reboot") +
			"\n\nOn a terminal it shows how the tasks end, until the agent is drained. Ctrl-C leaves it draining.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "deadline", Usage: "`TIME` that its tasks have from SIGTERM to SIGKILL; their own kill_grace unless given"},
			&cli.BoolFlag{Name: "wait", Usage: "show how it goes and end when the agent is drained, also where nobody looks on"},
		),
		Action: func(c *cli.Context) error {
			deadline, err := durationFlag(c, "deadline")
			if err != nil {
				return err
			}
			order := map[string]any{}
			if c.IsSet("deadline") {
				order["deadline"] = deadline
			}
			body, err := json.Marshal(order)
			if err != nil {
				return err
			}
			out, isFile := c.App.Writer.(*os.File)
			if !c.Bool("wait") && (!isFile || !term.IsTerminal(int(out.Fd()))) {
				return act(c, "agents", "drain", "drains", body)
			}
			return aboutOne(func(c *cli.Context, cl *client, name string) error {
				t, err := cl.find(c.Context, "agents", name)
				if err != nil {
					return err
				}
				return (&draining{c: c, client: cl, agent: t, order: body}).follow()
			})(c)
		},
	}
}

// draining is an agent's way from an order to the end of its last task.
type draining struct {
	c      *cli.Context
	client *client
	agent  thing
	order  []byte

	ordered bool
	ended   int // tasks, as far as was heard
}

// What ends the reading of events.
var (
	errDrained = errors.New("the agent is drained")
	errAway    = errors.New("the agent is away")
)

// follow gives the order once the events are heard that come of it.
func (d *draining) follow() error {
	// Two clients: one reads as long as the other asks.
	events, err := newClient(d.c)
	if err != nil {
		return err
	}
	r := &api.Follower{Client: events.Client, Query: url.Values{"agent": {d.agent.ID}}, Hear: d.hear}
	err = r.Run(d.c.Context)
	switch {
	case errors.Is(err, errDrained):
		return d.say("%s is drained: %s ended", named(d.agent.ID, d.agent.Name), plural(d.ended, "task"))
	case errors.Is(err, errAway) && !d.c.Bool("wait"): // the order stands
		return d.say("%s is unreachable: it drains when it is back", d.agent.ID)
	case errors.Is(err, errAway):
		return fmt.Errorf("agent %s is unreachable: it drains when it is back; ringmaster remove %s ends its tasks now, and the agent for good", d.agent.ID, d.agent.ID)
	case d.c.Context.Err() != nil && d.ordered:
		fmt.Fprintf(d.c.App.ErrWriter, "\n%s goes on draining; see ringmaster agents %s, or ringmaster undrain %s\n", d.agent.ID, d.agent.ID, d.agent.ID)
		return exitCause(d.c.Context)
	}
	return err
}

func (d *draining) say(format string, args ...any) error {
	_, err := fmt.Fprintf(d.c.App.Writer, format+"\n", args...)
	return err
}

func (d *draining) hear(data []byte) error {
	e, err := api.Event(data)
	if err != nil {
		return err
	}
	switch e.Type {
	case events.Begin:
		return d.begin()
	case events.TaskEnded:
		d.ended++
		return d.say("%s  %s %s", e.Time.Local().Format(time.TimeOnly), plain(subject(&e)), e.State)
	case events.AgentUpdated:
		return d.state(offers.AgentState(e.State))
	}
	return nil
}

// begin gives the order, or looks what became of it while events were missed.
func (d *draining) begin() error {
	path := "/v1/agents/" + url.PathEscape(d.agent.ID)
	if !d.ordered {
		if _, err := d.client.Send(d.c.Context, http.MethodPost, path+"/drain", d.order); err != nil {
			return err
		}
		d.ordered = true
		if d.agent.State == string(offers.AgentUnreachable) {
			return errAway
		}
		if err := d.say("%s drains", named(d.agent.ID, d.agent.Name)); err != nil {
			return err
		}
	}
	var now api.Agent
	if err := d.client.Get(d.c.Context, path, &now); err != nil {
		return err
	}
	return d.state(now.State)
}

// state is an error once there is nothing more to wait for.
func (d *draining) state(s offers.AgentState) error {
	switch s {
	case offers.AgentDrained:
		return errDrained
	case offers.AgentDraining:
		return nil
	case offers.AgentUnreachable:
		return errAway
	}
	return fmt.Errorf("agent %s does not drain any more: it is %s", d.agent.ID, s)
}
