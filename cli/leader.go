package cli

import (
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
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
			if err := wantWord(c); err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			var answer api.Transferred
			if err := cl.Act(c.Context, http.MethodPost, "/v1/leader/transfer", api.Transfer{To: c.Args().First()}, &answer); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s leads\n", answer.Leader.Name)
			return err
		},
	}
}
