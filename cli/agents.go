package cli

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

func agentsCommand() *cli.Command {
	return &cli.Command{
		Name: "agents", Category: lookGroup, Usage: "the agents, or one of them", ArgsUsage: "[ID]",
		Description: examples("ringmaster agents", "ringmaster agents --state unreachable -o wide", "ringmaster agents worker-3"),
		Flags:       lookFlags(&cli.StringFlag{Name: "state", Usage: "only those in `STATE`: active, draining, drained, unreachable or gone"}),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				if c.Args().Present() {
					a, err := cl.find(ctx, "agents", c.Args().First())
					if err != nil {
						return sight{}, err
					}
					return seeOne(ctx, cl, "/v1/agents/"+url.PathEscape(a.ID), drawAgent)
				}
				return seeList(ctx, cl, "/v1/agents", "agents", filters(c, "state"), drawAgents)
			})
		},
	}
}

// filters are the flags of that name that were given, as a query.
func filters(c *cli.Context, names ...string) url.Values {
	q := url.Values{}
	for _, n := range names {
		if v := c.String(n); v != "" {
			q.Set(n, v)
		}
	}
	return q
}

func drawAgents(p *page, list []api.Agent) { p.table(agentTable(list, p.now)) }

// agentTable is the heading of a list of agents and its rows.
func agentTable(list []api.Agent, now time.Time) (heading row, rows []row) {
	for _, a := range list {
		rows = append(rows, row{
			string(a.ID), a.Name, condition(a), usage(a.Used.CPUs.String(), a.Total.CPUs.String()), usage(size(a.Used.Mem), size(a.Total.Mem)),
			usage(size(a.Used.Disk), size(a.Total.Disk)), devices(a), attributes(a.Attributes), a.Host, a.Address, a.Version, age(now, when(a.Started)),
		})
	}
	return row{"ID", "NAME", "STATE", "CPUS", "MEM", "DISK", "DEVICES", "+ATTRIBUTES", "+HOST", "+ADDRESS", "+VERSION", "UP"}, rows
}

// condition is the state of an agent in a word.
func condition(a api.Agent) string {
	if a.State == offers.AgentActive && a.Closed != "" {
		return "closed"
	}
	return string(a.State)
}

func drawAgent(p *page, a api.Agent) {
	p.fields("id", string(a.ID), "name", a.Name, "state", string(a.State), "when back", string(a.Resume), "closed", a.Closed, "host", a.Host, "address", a.Address,
		"attributes", attributes(a.Attributes), "version", a.Version, "up", age(p.now, when(a.Started)),
		"total", sum(a.Total), "used", sum(a.Used), "offered", sum(a.Offered), "free", sum(a.Free))
	for _, class := range slices.Sorted(maps.Keys(a.Devices)) {
		var rows []row
		d := a.Devices[class]
		for i, id := range d.IDs {
			model := ""
			if i < len(d.Attributes) {
				model = d.Attributes[i]["model"]
			}
			rows = append(rows, row{id, usage(sizeAt(d.Used, i), sizeAt(d.Capacity, i)), textAt(d.Enforcement, i), model, textAt(d.Health, i)})
		}
		p.printf("\n")
		p.table(row{strings.ToUpper(class), "USED", "ENFORCED", "MODEL", "HEALTH"}, rows)
	}
}

func sizeAt(list []int64, i int) string {
	if i < len(list) {
		return size(list[i])
	}
	return size(0)
}

func textAt(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// devices sums up the classes of an agent: "gpu 3/8 watch, 1 unwell".
func devices(a api.Agent) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(a.Devices)) {
		d := a.Devices[class]
		busy := 0
		for _, n := range d.Used {
			if n > 0 {
				busy++
			}
		}
		text := fmt.Sprintf("%s %d/%d", class, busy, len(d.IDs))
		if tiers := slices.Compact(slices.Sorted(slices.Values(d.Enforcement))); len(tiers) > 0 {
			text += " " + strings.ReplaceAll(strings.Join(tiers, "/"), "none", "unenforced")
		}
		unwell := 0
		for _, health := range d.Health {
			if health != "ok" {
				unwell++
			}
		}
		if unwell > 0 {
			text += fmt.Sprintf(" (%d unwell)", unwell)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func attributes(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+"="+m[k])
	}
	return strings.Join(parts, ", ")
}
