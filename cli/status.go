package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

// taskOrder is the order in which states are listed.
var taskOrder = []offers.State{"running", "staging", "starting", "killing", "unreachable", "finished", "failed", "killed", "rejected", "dropped", "gone"}

var agentOrder = []offers.AgentState{"active", "draining", "drained", "unreachable", "gone"}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Category: lookGroup, Usage: "the cluster at a glance",
		Description: examples("ringmaster status", "ringmaster status --watch"),
		Flags:       lookFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			return look(c, func(ctx context.Context, cl *client) (sight, error) {
				return seeOne(ctx, cl, "/v1/status", drawStatus)
			})
		},
	}
}

func drawStatus(p *page, s api.Status) {
	waiting := ""
	if len(s.Pending) > 0 {
		waiting = counts(s.Pending)
	}
	p.fields(
		"leader", leaderOf(&s),
		"masters", mastersCount(s.Masters),
		"agents", counts(s.Agents, agentOrder...),
		"frameworks", fmt.Sprint(s.Frameworks),
		"tasks", counts(s.Tasks, taskOrder...),
		"total", sum(s.Total),
		"used", sum(s.Used),
		"offered", sum(s.Offered),
		"waiting", waiting,
	)
}

// leaderOf says who leads.
func leaderOf(s *api.Status) string {
	if s.Leader == nil {
		return "none"
	}
	return fmt.Sprintf("%s at %s, term %d", s.Leader.Name, s.Leader.Address, s.Term)
}

func mastersCount(list []api.Master) string {
	away := 0
	for _, m := range list {
		if m.Role == "unreachable" {
			away++
		}
	}
	if away > 0 {
		return fmt.Sprintf("%d, %d of them unreachable", len(list), away)
	}
	return fmt.Sprint(len(list))
}
