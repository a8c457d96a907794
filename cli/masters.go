package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func mastersCommand() *cli.Command {
	return &cli.Command{
		Name: "masters", Category: lookGroup, Usage: "the masters and who leads",
		Description: examples("ringmaster masters", "ringmaster masters -o json", "ringmaster masters remove m3      # for good, once its process has ended"),
		Flags:       lookFlags(),
		Subcommands: []*cli.Command{mastersRemoveCommand()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			err := lookAtMasters(c, url.Values{})
			if !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
				return err
			}
			// None leads. What one of them knows tells which are missing.
			if stale := lookAtMasters(c, url.Values{"stale": {"true"}}); stale != nil {
				return stale
			}
			return err
		},
	}
}

func lookAtMasters(c *cli.Context, query url.Values) error {
	return look(c, func(ctx context.Context, cl *client) (sight, error) {
		return seeList(ctx, cl, "/v1/masters", "masters", query, func(p *page, list []api.Master) {
			var rows []row
			for _, m := range list {
				rows = append(rows, row{m.Name, m.Role, m.Address, m.Raft})
			}
			p.table(row{"NAME", "ROLE", "ADDRESS", "RAFT"}, rows)
		})
	})
}

func mastersRemoveCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Usage: "take a master out of the cluster; its process is not stopped", ArgsUsage: "NAME",
		Description: examples("ringmaster masters remove m3"),
		Flags:       clientFlags(),
		Action: aboutOne(func(c *cli.Context, cl *client, name string) error {
			if err := wantWord(c); err != nil {
				return err
			}
			if _, err := cl.Send(c.Context, http.MethodPost, "/v1/masters/"+url.PathEscape(name)+"/remove", nil); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.App.Writer, "%s is no master of the cluster any more\n", name)
			return err
		}),
	}
}
