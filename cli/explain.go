package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Category: lookGroup, Usage: "what waits and why, or where a demand would go and why", ArgsUsage: "[FRAMEWORK DEMAND]",
		Description: examples(
			"ringmaster explain",
			"ringmaster explain batch d1                          # a demand that stands",
			"ringmaster explain --gpu 2 --constraint 'rack==r1'   # where run would go with these flags") +
			"\n\nThe masters find the places by what decides in them; nobody is offered anything for it.",
		Flags: lookFlags(wishFlags("explained as a demand of `ROLE`")...),
		Action: func(c *cli.Context) error {
			if n := c.Args().Len(); n != 0 && n != 2 {
				return usagef("ringmaster explain needs FRAMEWORK and DEMAND, or neither; see ringmaster explain --help")
			}
			wish := ""
			for _, f := range wishFlags("") {
				if c.IsSet(f.Names()[0]) {
					wish = f.Names()[0]
				}
			}
			switch {
			case wish == "" && c.Args().Len() == 0:
				return look(c, func(ctx context.Context, cl *client) (sight, error) {
					return seeList(ctx, cl, "/v1/explain", "demands", url.Values{}, drawWaiting)
				})
			case wish == "":
				q := url.Values{"framework": {c.Args().Get(0)}, "demand": {c.Args().Get(1)}}
				return look(c, func(ctx context.Context, cl *client) (sight, error) {
					return seeOne(ctx, cl, "/v1/explain?"+q.Encode(), drawExplanation)
				})
			case c.Args().Len() > 0:
				return usagef("--%s is of a demand that nobody has stated; FRAMEWORK and DEMAND name one that stands", wish)
			}
			d, role, err := readWish(c, "run")
			if err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				path, err := wishPath(role, d)
				if err != nil {
					return sight{}, err
				}
				return seeOne(ctx, cl, path, drawExplanation)
			})
		},
	}
}

// wishFlags say what a command asks the masters for.
func wishFlags(role string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cpus", Usage: "`CORES` for each task, at most three decimals", Value: "1"},
		&cli.StringFlag{Name: "mem", Usage: "`SIZE` of memory, also its limit; 0 asks for none and sets no limit", Value: "128MiB"},
		&cli.StringFlag{Name: "disk", Usage: "`SIZE` of disk", DefaultText: "none"},
		&cli.StringFlag{Name: "gpu", Usage: "`NUMBER` of whole GPUs, or with --gpu-mem of GPUs with a slice", DefaultText: "none"},
		&cli.StringFlag{Name: "gpu-mem", Usage: "`SIZE` of a slice of one GPU's memory", DefaultText: "none"},
		&cli.StringFlag{Name: "count", Usage: "`NUMBER` of tasks", Value: "1"},
		&cli.StringFlag{Name: "gang", Usage: "start all tasks at once or none: `TIME` for the places to be taken", DefaultText: "none"},
		&cli.StringFlag{Name: "role", Usage: role, Value: "default"},
		&cli.StringFlag{Name: "placement", Usage: "`STRATEGY` that chooses the agent", DefaultText: "the role's"},
		&cli.StringFlag{Name: "deadline", Usage: "`TIME` from now by which the placement match wants it done", DefaultText: "none"},
		&cli.StringFlag{Name: "runtime", Usage: "`TIME` that it is expected to take, for match", DefaultText: "unknown"},
		&cli.StringFlag{Name: "price", Usage: "`AMOUNT` that is paid for each task, for match", DefaultText: "0"},
		&cli.StringSliceFlag{Name: "constraint", Usage: "`CONDITION` on the agent, such as 'rack==r1' or 'host~web.*', or limit, such as 'distinct agent'; repeatable"},
		&cli.StringSliceFlag{Name: "prefer", Usage: "`CONDITION:WEIGHT` that is wished for and not required, such as 'rack==r1:10'; repeatable"},
	}
}

// readWish reads what [wishFlags] say.
func readWish(c *cli.Context, id offers.DemandID) (d offers.Demand, role offers.Role, err error) {
	count, err := wholeNumber(c.String("count"))
	if err != nil || count < 1 || count > maxRunCount {
		return d, "", usagef("--count %s: it is a number from 1 to %d", c.String("count"), maxRunCount)
	}
	role = offers.Role(c.String("role"))
	if err := role.Validate(); err != nil {
		return d, "", usagef("--role: %w", err)
	}
	d = offers.Demand{ID: id, Count: &count, Placement: offers.Placement(c.String("placement"))}
	if d.Resources, err = readAmounts(c); err != nil {
		return d, "", usageError{err}
	}
	if d.Gang, err = durationFlag(c, "gang"); err != nil {
		return d, "", usageError{err}
	}
	if err := readWorth(c, &d); err != nil {
		return d, "", usageError{err}
	}
	for _, text := range c.StringSlice("constraint") {
		condition, err := offers.ParseConstraint(text)
		if err != nil {
			return d, "", usagef("--constraint: %w", err)
		}
		d.Constraints = append(d.Constraints, condition)
	}
	for _, text := range c.StringSlice("prefer") {
		p, err := readPreference(text)
		if err != nil {
			return d, "", usagef("--prefer: %w", err)
		}
		d.Preferences = append(d.Preferences, p)
	}
	if err := d.Placement.Validate(); err != nil {
		return d, "", usagef("--placement: %w", err)
	}
	if err := d.Validate(); err != nil {
		return d, "", usageError{errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("demand %q: ", id)))}
	}
	return d, role, nil
}

func readPreference(text string) (p offers.Preference, err error) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return p, fmt.Errorf("%q has no weight: write 'rack==r1:10'", text)
	}
	if p.Weight, err = strconv.Atoi(text[at+1:]); err != nil {
		return p, fmt.Errorf("the weight %q of %q is no whole number", text[at+1:], text)
	}
	p.Condition, err = offers.ParseConstraint(text[:at])
	return p, err
}

// readWorth reads what `match` goes by.
func readWorth(c *cli.Context, d *offers.Demand) (err error) {
	if d.Deadline, err = durationFlag(c, "deadline"); err != nil {
		return err
	}
	if d.Runtime, err = durationFlag(c, "runtime"); err != nil {
		return err
	}
	if text := c.String("price"); text != "" {
		if d.Price, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("--price %q: it is a number", text)
		}
	}
	return nil
}

// wishPath is where the masters explain a demand that nobody has stated.
func wishPath(role offers.Role, d offers.Demand) (string, error) {
	wish, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	return "/v1/explain?" + url.Values{"role": {string(role)}, "wish": {string(wish)}}.Encode(), nil
}

// explainWish asks the masters where a demand would go.
func (cl *client) explainWish(ctx context.Context, role offers.Role, d offers.Demand) (e api.Explanation, err error) {
	path, err := wishPath(role, d)
	if err != nil {
		return e, err
	}
	return e, cl.Get(ctx, path, &e)
}

func drawWaiting(p *page, list []api.Waiting) {
	var rows []row
	for _, d := range list {
		units := "whole agents"
		if d.Count != nil {
			units = fmt.Sprint(*d.Count)
		}
		rows = append(rows, row{string(d.Framework), string(d.Demand), string(d.Role), units, asked(&d.Resources), strings.Join(d.Stopped, ", ")})
	}
	p.table(row{"FRAMEWORK", "DEMAND", "ROLE", "UNITS", "RESOURCES", "STOPPED BY"}, rows)
}
