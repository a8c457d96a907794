package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

func rolesCommand() *cli.Command {
	return &cli.Command{
		Name: "roles", Category: lookGroup, Usage: "the roles, their weights, quotas and shares",
		Description: examples("ringmaster roles", "ringmaster roles -o json"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				return seeList(ctx, cl, "/v1/roles", "roles", url.Values{}, drawRoles)
			})
		},
	}
}

func drawRoles(p *page, list []api.Role) { p.table(roleTable(list)) }

// roleTable is the heading of a list of roles and its rows.
func roleTable(list []api.Role) (heading row, rows []row) {
	for _, r := range list {
		rows = append(rows, row{string(r.Name), strconv.FormatFloat(r.Weight, 'g', -1, 64), percent(r.Share), r.Dominant,
			quotaText(r.Quota.Limit), quotaText(r.Quota.Guarantee), string(r.Placement), fmt.Sprint(r.Frameworks)})
	}
	return row{"ROLE", "WEIGHT", "SHARE", "DOMINANT", "LIMIT", "GUARANTEE", "+PLACEMENT", "+FRAMEWORKS"}, rows
}

func drawRole(p *page, r api.Role) {
	p.fields("role", string(r.Name), "weight", strconv.FormatFloat(r.Weight, 'g', -1, 64), "share", percent(r.Share), "dominant", r.Dominant,
		"limit", quotaText(r.Quota.Limit), "guarantee", quotaText(r.Quota.Guarantee), "placement", string(r.Placement), "frameworks", fmt.Sprint(r.Frameworks))
}

// quotaText writes amounts as role set reads them; every kind but cpus and
// bandwidth is bytes.
func quotaText(q map[string]json.Number) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(q)) {
		text := q[kind].String()
		if n, err := q[kind].Int64(); err == nil && kind != "cpus" {
			text = size(n)
			if kind == "bandwidth" {
				text = bits(n)
			}
		}
		parts = append(parts, kind+"="+text)
	}
	return strings.Join(parts, ",")
}
