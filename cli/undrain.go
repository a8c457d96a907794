package cli

import "github.com/urfave/cli/v2"

func undrainCommand() *cli.Command {
	return &cli.Command{
		Name: "undrain", Category: operateGroup, Usage: "give a drained agent offers again", ArgsUsage: "AGENT",
		Description: examples("ringmaster undrain worker-3"),
		Flags:       clientFlags(),
		Action:      func(c *cli.Context) error { return act(c, "agents", "undrain", "gets offers again", nil) },
	}
}
