package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

func logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Category: workGroup, Usage: "what a task wrote", ArgsUsage: "TASK",
		Description: examples("ringmaster logs build-7", "ringmaster logs -f --stderr build-7"),
		Flags: clientFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the task ends or Ctrl-C, whatever becomes of the connection"},
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
			if c.Bool("follow") {
				return followLog(c, &follower{path: path + "/logs", stream: stream, client: cl}, task)
			}
			resp, err := cl.Do(c.Context, http.MethodGet, path+"/logs?"+taskQuery(stream), nil)
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

// followLog copies a log as it grows. Offsets outlive connections, masters and
// agents, so it goes on where it broke off.
func followLog(c *cli.Context, f *follower, task string) error {
	f.to, f.mu = c.App.Writer, &sync.Mutex{}
	err := f.run(c.Context)
	var refused *api.AnswerError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &refused) && f.offset == 0 {
		return err
	}
	return fmt.Errorf("the output of %s broke off after %d bytes, and nobody has gone on with it for %s: %w", task, f.offset, api.PatienceFor(err), err)
}
