package cli

import "github.com/urfave/cli/v2"

func teardownCommand() *cli.Command {
	return &cli.Command{
		Name: "teardown", Category: operateGroup, Usage: "end a framework and its tasks", ArgsUsage: "FRAMEWORK",
		Description: examples("ringmaster teardown nightly-batch"),
		Flags:       clientFlags(),
		Action:      func(c *cli.Context) error { return act(c, "frameworks", "teardown", "is torn down", nil) },
	}
}
