package cli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"
)

func leaderCommand() *cli.Command {
	return &cli.Command{
		Name: "leader", Category: operateGroup, Usage: "move the leadership",
		Description: examples("ringmaster leader transfer"),
		Subcommands: []*cli.Command{leaderTransferCommand()},
	}
}

func leaderTransferCommand() *cli.Command {
	return &cli.Command{
		Name: "transfer", Usage: "let another master lead, by name or the one that is furthest ahead", ArgsUsage: "[NAME]",
		Description: examples("ringmaster leader transfer", "ringmaster leader transfer m2"),
		Flags:       clientFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 1); err != nil {
				return err
			}
			order := map[string]string{}
			if c.Args().Present() {
				order["to"] = c.Args().First()
			}
			body, err := json.Marshal(order)
			if err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			text, err := cl.send(c.Context, http.MethodPost, "/v1/leader/transfer", body)
			if err != nil {
				return err
			}
			var answer struct{ Leader masterView }
			if err := json.Unmarshal(text, &answer); err != nil {
				return fmt.Errorf("the master's answer can't be read: %w", err)
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s leads\n", answer.Leader.Name)
			return err
		},
	}
}
