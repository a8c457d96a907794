package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/urfave/cli/v2"
)

// lookFlags are those of every command that shows something.
func lookFlags(more ...cli.Flag) []cli.Flag {
	return append(more, clientFlags(
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json", Value: "table"},
		&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "keep looking, until Ctrl-C"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colour on a terminal, as NO_COLOR in the environment"},
	)...)
}

// sight is what a command saw: the masters' answer, and how to draw it.
type sight struct {
	raw  []byte
	draw func(*page) error
	json func(*page) error // writes it as JSON; nil: raw is all
}

// look shows what see returns, once or for as long as --watch is on.
func look(c *cli.Context, see func(context.Context, *client) (sight, error)) error {
	if err := wantForm(c); err != nil {
		return err
	}
	if err := wantFilters(c); err != nil {
		return err
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	if !c.Bool("watch") {
		s, err := see(c.Context, cl)
		if err != nil {
			return err
		}
		text, err := present(c, s, c.App.Writer)
		if err != nil {
			return err
		}
		_, err = c.App.Writer.Write(text)
		return err
	}
	return watch(c, func() ([]byte, error) { return render(c, cl, see) })
}

// wantFilters refuses a filter that is there and empty, as that of a variable
// which is not set: everything would be shown.
func wantFilters(c *cli.Context) error {
	for _, name := range []string{"agent", "framework", "resource", "role", "state", "task", "type"} {
		if c.IsSet(name) && c.String(name) == "" {
			return usagef("%s: --%s is empty; leave it away to see all", c.Command.HelpName, name)
		}
	}
	return nil
}

// wantForm refuses an output that nobody draws.
func wantForm(c *cli.Context) error {
	switch form := c.String("output"); form {
	case "table", "wide", "json":
		return nil
	default:
		return usagef("-o %s: it is table, wide or json", form)
	}
}

func render(c *cli.Context, cl *client, see func(context.Context, *client) (sight, error)) ([]byte, error) {
	s, err := see(c.Context, cl)
	if err != nil {
		return nil, err
	}
	return present(c, s, nil)
}

// present returns what was seen in the form that was asked for, but for what
// early, where it is not nil, has got before all was seen.
func present(c *cli.Context, s sight, early io.Writer) ([]byte, error) {
	form := s.draw
	if c.String("output") == "json" {
		form = s.json
	}
	if form == nil {
		var b bytes.Buffer
		if err := json.Indent(&b, bytes.TrimSpace(s.raw), "", "  "); err != nil {
			return nil, fmt.Errorf("the master's answer is not JSON: %w", err)
		}
		b.WriteByte('\n')
		return b.Bytes(), nil
	}
	p := newPage(c)
	if p.early = early; early == nil && c.Bool("watch") {
		_, p.enough = screenOf(c.App.Writer)
	}
	if err := form(p); err != nil {
		return nil, err
	}
	return p.text.Bytes(), nil
}

// seeList fetches a list and decodes its items for draw.
func seeList[T any](ctx context.Context, cl *client, path, key string, query url.Values, draw func(*page, []T)) (sight, error) {
	raw, err := cl.list(ctx, path, key, query)
	if err != nil {
		return sight{}, err
	}
	return sight{raw: raw, draw: func(p *page) error {
		items, err := listOf[T](raw, key)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			p.printf("no %s\n", key)
			return nil
		}
		draw(p, items)
		return nil
	}}, nil
}

// listOf reads the items of a list out of the masters' answer.
func listOf[T any](raw []byte, key string) (items []T, err error) {
	var whole map[string]json.RawMessage
	if err = json.Unmarshal(raw, &whole); err == nil {
		err = json.Unmarshal(whole[key], &items)
	}
	if err != nil {
		return nil, fmt.Errorf("the master's list of %s can't be read: %w", key, err)
	}
	return items, nil
}

// seeOne fetches one thing and decodes it for draw.
func seeOne[T any](ctx context.Context, cl *client, path string, draw func(*page, T)) (sight, error) {
	raw, err := cl.Read(ctx, path)
	if err != nil {
		return sight{}, err
	}
	return sightOf(raw, path, draw), nil
}

// sightOf is raw, the answer to path, decoded for draw.
func sightOf[T any](raw []byte, path string, draw func(*page, T)) sight {
	return sight{raw: raw, draw: func(p *page) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the master's answer to %s can't be read: %w", path, err)
		}
		draw(p, v)
		return nil
	}}
}
