package cli

import (
	"fmt"
	"io"
	"net/http"

	"github.com/urfave/cli/v2"
)

func logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Category: workGroup, Usage: "what a task wrote", ArgsUsage: "TASK",
		Description: examples("ringmaster logs build-7", "ringmaster logs -f --stderr build-7"),
		Flags: clientFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the task ends or Ctrl-C"},
			&cli.BoolFlag{Name: "stderr", Usage: "its standard error instead of its standard output"},
		),
		Action: aboutOne(func(c *cli.Context, cl *client, task string) error {
			path, err := cl.taskPath(c.Context, task)
			if err != nil {
				return err
			}
			stream := "stdout"
			if c.Bool("stderr") {
				stream = "stderr"
			}
			resp, err := cl.do(c.Context, http.MethodGet, path+"/logs?"+taskQuery(stream, c.Bool("follow")), nil)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if _, err = io.Copy(c.App.Writer, resp.Body); err != nil && c.Context.Err() == nil {
				return fmt.Errorf("the output of %s broke off; ask again: %w", task, err)
			}
			return c.Context.Err()
		}),
	}
}
