package cli

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

func offersCommand() *cli.Command {
	return &cli.Command{
		Name: "offers", Category: lookGroup, Usage: "the offers that frameworks hold",
		Description: examples("ringmaster offers", "ringmaster offers --watch"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				return seeList(ctx, cl, "/v1/offers", "offers", url.Values{}, drawOffers)
			})
		},
	}
}

func drawOffers(p *page, list []api.Offer) {
	var rows []row
	for _, o := range list {
		ring := ""
		if o.Ring != nil {
			ring = fmt.Sprintf("%s %d", o.Ring.Resource, o.Ring.Index)
		}
		rows = append(rows, row{string(o.ID), string(o.Framework), string(o.AgentID), offered(&o.Resources), string(o.DemandID), ring, until(time.Now(), o.Expires)})
	}
	p.table(row{"ID", "FRAMEWORK", "AGENT", "RESOURCES", "DEMAND", "+RING", "EXPIRES"}, rows)
}

// until writes how far away t is.
func until(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return "in " + age(t, now)
}
