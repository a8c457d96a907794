package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
)

type statusView struct {
	Leader     masterView     `json:"leader"`
	Term       uint64         `json:"term"`
	Masters    []masterView   `json:"masters"`
	Agents     map[string]int `json:"agents"`
	Frameworks any            `json:"frameworks"`
	Tasks      map[string]int `json:"tasks"`
	Total      room           `json:"total"`
	Used       room           `json:"used"`
	Offered    room           `json:"offered"`
	Pending    map[string]int `json:"pending"` // demands that wait, by the kind that stopped them
}

// taskOrder is the order in which states are listed.
var taskOrder = []string{"running", "staging", "starting", "killing", "unreachable", "finished", "failed", "killed", "rejected", "dropped", "gone"}

var agentOrder = []string{"active", "draining", "drained", "unreachable", "gone"}

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

func drawStatus(p *page, s statusView) {
	waiting := ""
	if len(s.Pending) > 0 {
		waiting = counts(s.Pending)
	}
	p.fields(
		"leader", s.leader(),
		"masters", mastersCount(s.Masters),
		"agents", counts(s.Agents, agentOrder...),
		"frameworks", frameworkCount(s.Frameworks),
		"tasks", counts(s.Tasks, taskOrder...),
		"total", s.Total.sum(),
		"used", s.Used.sum(),
		"offered", s.Offered.sum(),
		"waiting", waiting,
	)
}

// leader says who leads.
func (s *statusView) leader() string {
	if s.Leader.Name == "" {
		return "none"
	}
	return fmt.Sprintf("%s at %s, term %d", s.Leader.Name, s.Leader.Address, s.Term)
}

func mastersCount(list []masterView) string {
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

// frameworkCount reads a number, or numbers by state.
func frameworkCount(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprint(int(v))
	case map[string]any:
		m := map[string]int{}
		for k, n := range v {
			if f, ok := n.(float64); ok {
				m[k] = int(f)
			}
		}
		return counts(m)
	}
	return "none"
}
