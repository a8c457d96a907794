package cli

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

func frameworksCommand() *cli.Command {
	return &cli.Command{
		Name: "frameworks", Category: lookGroup, Usage: "the frameworks and their shares, or one of them", ArgsUsage: "[ID]",
		Description: examples("ringmaster frameworks", "ringmaster frameworks --role eng/ml"),
		Flags:       lookFlags(&cli.StringFlag{Name: "role", Usage: "only those of `ROLE`"}),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				if c.Args().Present() {
					f, err := cl.find(ctx, "frameworks", c.Args().First())
					if err != nil {
						return sight{}, err
					}
					return seeOne(ctx, cl, "/v1/frameworks/"+url.PathEscape(f.ID), drawFramework)
				}
				return seeList(ctx, cl, "/v1/frameworks", "frameworks", filters(c, "role"), drawFrameworks)
			})
		},
	}
}

func drawFrameworks(p *page, list []api.Framework) {
	var rows []row
	for _, f := range list {
		rows = append(rows, row{string(f.ID), f.Name, string(f.Role), yes(f.Connected), fmt.Sprint(f.Tasks), percent(f.Share), f.Dominant, f.User})
	}
	p.table(row{"ID", "NAME", "ROLE", "CONNECTED", "TASKS", "SHARE", "DOMINANT", "+USER"}, rows)
}

func drawFramework(p *page, f api.Framework) {
	connected, demands := yes(f.Connected), fmt.Sprint(f.Demands)
	if f.Deadline != nil {
		connected += ", and is removed at " + f.Deadline.UTC().Format(time.RFC3339) + " unless it comes back"
	}
	if f.Suppressed {
		demands += ", and gets no offers: it said suppress"
	}
	p.fields("id", string(f.ID), "name", f.Name, "role", string(f.Role), "user", f.User, "connected", connected,
		"tasks", fmt.Sprint(f.Tasks), "demands", demands, "share", percent(f.Share), "dominant", f.Dominant,
		"used", sum(f.Used), "offered", sum(f.Offered))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
