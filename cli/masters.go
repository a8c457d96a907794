package cli

import (
	"context"
	"net/url"

	"github.com/urfave/cli/v2"
)

type masterView struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Raft    string `json:"raft"`
	Role    string `json:"role"`
}

func mastersCommand() *cli.Command {
	return &cli.Command{
		Name: "masters", Category: lookGroup, Usage: "the masters and who leads",
		Description: examples("ringmaster masters", "ringmaster masters -o json"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				return seeList(ctx, cl, "/v1/masters", "masters", url.Values{}, func(p *page, list []masterView) {
					var rows []row
					for _, m := range list {
						rows = append(rows, row{m.Name, m.Role, m.Address, m.Raft})
					}
					p.table(row{"NAME", "ROLE", "ADDRESS", "RAFT"}, rows)
				})
			})
		},
	}
}
