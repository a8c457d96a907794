package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/ringmaster-project/ringmaster/offers"
)

// runAgainst runs the arguments as a command that finds the cluster through
// its environment, and passes its exit code on.
func runAgainst(c *cli.Context, s *settings, at string) error {
	argv := c.Args().Slice()
	path, err := exec.LookPath(argv[0])
	if err != nil && argv[0] == "ringmaster" {
		path, err = os.Executable()
	}
	if err != nil {
		return fmt.Errorf("%s can't be run: %w", argv[0], err)
	}
	cmd := exec.CommandContext(c.Context, path, argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.App.Reader, c.App.Writer, c.App.ErrWriter
	cmd.Env = append(os.Environ(), "RINGMASTER_MASTERS="+at)
	for name, value := range map[string]string{"TOKEN": s.token, "CA": s.ca, "CERT": s.cert, "KEY": s.key} {
		if value != "" {
			cmd.Env = append(cmd.Env, "RINGMASTER_"+name+"="+value)
		}
	}
	cmd.Cancel = func() error { return passOn(c, cmd.Process) }
	cmd.WaitDelay = 20 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return exitError(128 + int(ws.Signal()))
		}
		return exitError(exit.ExitCode())
	}
	return err
}

// passOn sends the command the signal that we got, except for a Ctrl-C: the
// terminal has sent that to both.
func passOn(c *cli.Context, p *os.Process) error {
	var cause interrupted
	if !errors.As(context.Cause(c.Context), &cause) {
		return p.Signal(syscall.SIGTERM)
	}
	if f, ok := c.App.Reader.(*os.File); ok && cause.signal == syscall.SIGINT && term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return p.Signal(cause.signal)
}

// endPatience bounds how long dev waits for its tasks to end.
const endPatience = 15 * time.Second

// endTasks tears every framework down, so that none launches anew, and waits
// until their tasks have ended.
func endTasks(ctx context.Context, cl *client, log hclog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	frameworks, err := cl.things(ctx, "frameworks")
	if err != nil {
		log.Error("the tasks were not ended", "error", err)
		return
	}
	for _, f := range frameworks {
		_, err := cl.send(ctx, http.MethodPost, "/v1/frameworks/"+url.PathEscape(f.ID)+"/teardown", nil)
		if err != nil && !notFound(err) && !errors.Is(err, &offers.Error{Code: offers.FrameworkRemoved}) {
			log.Error("a framework was not ended", "framework", f.ID, "error", err)
		}
	}
	for {
		left, err := cl.alive(ctx)
		if err != nil {
			log.Error("some tasks may not have ended", "error", err)
			return
		}
		if left == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// alive counts the tasks that have not ended.
func (cl *client) alive(ctx context.Context) (int, error) {
	raw, err := cl.list(ctx, "/v1/tasks", "tasks", nil)
	if err != nil {
		return 0, err
	}
	var answer struct{ Tasks []taskView }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return 0, err
	}
	n := 0
	for _, t := range answer.Tasks {
		if !offers.State(t.State).Terminal() {
			n++
		}
	}
	return n, nil
}
