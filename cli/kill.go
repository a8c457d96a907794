package cli

import (
	"encoding/json"

	"github.com/urfave/cli/v2"
)

func killCommand() *cli.Command {
	return &cli.Command{
		Name: "kill", Category: workGroup, Usage: "end a task", ArgsUsage: "TASK",
		Description: examples("ringmaster kill build-7", "ringmaster kill --grace 30s web-1", "ringmaster kill fw-1:build-7   # where two frameworks have a build-7"),
		Flags:       clientFlags(&cli.StringFlag{Name: "grace", Usage: "`TIME` from SIGTERM to SIGKILL; the task's own unless given"}),
		Action: func(c *cli.Context) error {
			grace, err := durationFlag(c, "grace")
			if err != nil {
				return err
			}
			order := map[string]any{}
			if c.IsSet("grace") {
				order["grace"] = grace
			}
			body, err := json.Marshal(order)
			if err != nil {
				return err
			}
			return act(c, "tasks", "kill", "is told to end", body)
		},
	}
}
