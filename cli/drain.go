package cli

import (
	"encoding/json"

	"github.com/urfave/cli/v2"
)

func drainCommand() *cli.Command {
	return &cli.Command{
		Name: "drain", Category: operateGroup, Usage: "give an agent no more offers and end its tasks", ArgsUsage: "AGENT",
		Description: examples("ringmaster drain worker-3", "ringmaster drain worker-3 --deadline 10m"),
		Flags:       clientFlags(&cli.StringFlag{Name: "deadline", Usage: "`TIME` that its tasks have left"}),
		Action: func(c *cli.Context) error {
			deadline, err := durationFlag(c, "deadline")
			if err != nil {
				return err
			}
			order := map[string]any{}
			if c.IsSet("deadline") {
				order["deadline"] = deadline
			}
			body, err := json.Marshal(order)
			if err != nil {
				return err
			}
			return act(c, "agents", "drain", "drains", body)
		},
	}
}
