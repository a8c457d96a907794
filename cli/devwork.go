package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
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
