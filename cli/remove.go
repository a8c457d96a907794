package cli

import "github.com/urfave/cli/v2"

func removeCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Category: operateGroup, Usage: "forget an agent for good; its tasks are gone", ArgsUsage: "AGENT",
		Description: examples("ringmaster remove worker-3"),
		Flags:       clientFlags(),
		Action:      func(c *cli.Context) error { return act(c, "agents", "remove", "is removed", nil) },
	}
}
