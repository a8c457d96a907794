package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

// act posts an order about one thing and says in a word that it was taken.
func act(c *cli.Context, list, verb, done string, body []byte) error {
	return aboutOne(func(c *cli.Context, cl *client, name string) error {
		t, err := cl.find(c.Context, list, name)
		if err != nil {
			return err
		}
		if list == "tasks" && offers.State(t.State).Terminal() {
			_, err = fmt.Fprintf(c.App.Writer, "%s has ended already: %s\n", t.ref(), t.State)
			return err
		}
		path := fmt.Sprintf("/v1/%s/%s/%s", list, url.PathEscape(t.ref()), verb)
		answer, err := cl.Send(c.Context, http.MethodPost, path, body)
		if err != nil {
			return err
		}
		var now api.AgentAct
		if list == "agents" && json.Unmarshal(answer, &now) == nil && now.State == offers.AgentUnreachable {
			done = fmt.Sprintf("is unreachable: it %s when it is back", done)
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s %s\n", t.ref(), done)
		return err
	})(c)
}

// durationFlag reads a flag that holds a duration; "" is none.
func durationFlag(c *cli.Context, name string) (offers.Duration, error) {
	if c.String(name) == "" {
		return 0, nil
	}
	d, err := offers.ParseDuration(c.String(name))
	if err != nil {
		return 0, usagef("--%s: %w", name, err)
	}
	return d, nil
}
