package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"
)

func jobScaleCommand() *cli.Command {
	return &cli.Command{
		Name: "scale", Usage: "set how many instances a service has", ArgsUsage: "NAME COUNT",
		Description: examples("ringmaster job scale web 5"),
		Flags:       clientFlags(detachFlag()),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 2, 2); err != nil {
				return err
			}
			count, err := wholeNumber(c.Args().Get(1))
			if err != nil {
				return usagef("COUNT: %w", err)
			}
			if count < 1 {
				return usagef("COUNT is %d; it is at least 1, and ringmaster job stop ends all", count)
			}
			return changeJob(c, "scale", map[string]int{"count": count})
		},
	}
}

func jobRollbackCommand() *cli.Command {
	return &cli.Command{
		Name: "rollback", Usage: "go back to an earlier version of a job: the last other one that was not given up, unless it is named", ArgsUsage: "NAME [VERSION]",
		Description: examples("ringmaster job rollback web", "ringmaster job rollback web 3"),
		Flags:       clientFlags(detachFlag()),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 2); err != nil {
				return err
			}
			version := 0
			if c.Args().Len() == 2 {
				var err error
				if version, err = wholeNumber(c.Args().Get(1)); err != nil {
					return usagef("VERSION: %w", err)
				}
			}
			return changeJob(c, "rollback", map[string]int{"version": version})
		},
	}
}

func detachFlag() cli.Flag {
	return &cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "do not wait for the end"}
}

// changeJob posts a wish about a job and follows what comes of it.
func changeJob(c *cli.Context, verb string, order any) error {
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	name, err := cl.jobNamed(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	d, err := cl.tellJob(c.Context, http.MethodPost, jobPath(name)+"/"+verb, body)
	if err != nil {
		return err
	}
	return attendJob(c, cl, d)
}

func jobHistoryCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "the versions of a job and its last runs", ArgsUsage: "NAME",
		Description: examples("ringmaster job history web"),
		Flags:       clientFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
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
			d, err := cl.watchJob(c.Context, name, 0)
			if err != nil {
				return err
			}
			p := newPage(c)
			drawHistory(p, d)
			_, err = c.App.Writer.Write(p.text.Bytes())
			return err
		},
	}
}

func drawHistory(p *page, d *jobDetail) {
	var rows []row
	for _, v := range d.Versions {
		mark := ""
		switch {
		case v.Number == d.Version:
			mark = "current"
		case v.Stable:
			mark = "stable"
		case v.GivenUp:
			mark = "given up"
		}
		rows = append(rows, row{fmt.Sprint(v.Number), mark, age(p.now, v.Created), v.Note})
	}
	p.table(row{"VERSION", "", "AGE", "WHY"}, rows)
	p.printf("\n")
	rows = nil
	for _, r := range d.Runs {
		took := "-"
		if !r.Ended.IsZero() {
			took = r.Ended.Sub(r.Created).Round(10 * time.Millisecond).String()
		}
		rows = append(rows, row{fmt.Sprint(r.Number), string(r.State), fmt.Sprint(r.Version), age(p.now, r.Created), took})
	}
	p.table(row{"RUN", "STATE", "VERSION", "AGE", "TOOK"}, rows)
}
