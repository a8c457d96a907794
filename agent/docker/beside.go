package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Beside runs a command inside the container, as its user, in its folder, with
// env beside its environment, and waits for it; when it has taken longer than
// patience, or ctx ends, its process group is killed. Its output goes nowhere.
// The error is one sentence, nil when the command ends with 0; ErrAway says
// that the engine did not answer, and nothing about the command.
//
// What it leaves behind in other process groups, or after it has ended, ends
// with the container.
func (c *Container) Beside(ctx context.Context, args, env []string, patience time.Duration) error {
	id, err := c.begin(ctx, args, env)
	if err != nil {
		return err
	}
	running, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took more than %s", patience))
	defer cancel()
	code, err := c.outcome(running, id)
	switch {
	case running.Err() != nil:
		if err := c.slay(id); err != nil {
			c.x.log.Warn("a command that runs in a container for too long could not be killed", "task", c.key, "error", err)
		}
		return context.Cause(running)
	case err != nil:
		return err
	case code != 0:
		return fmt.Errorf("the command ended with exit code %d", code)
	}
	return nil
}

// beginTime is how long an engine may take to start a command; until then it
// is not known whether there is something to kill.
const beginTime = 10 * time.Second

// begin starts the command, also for a caller who leaves meanwhile. How long the
// engine takes for that is not the command's time.
func (c *Container) begin(ctx context.Context, args, env []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), beginTime, ErrAway)
	defer cancel()
	if err := c.clear(ctx, args); err != nil {
		return "", err
	}
	id, err := c.x.engine.execCreate(ctx, c.id(), execBody{Cmd: args, Env: env})
	if err == nil {
		err = c.x.engine.execStart(ctx, id)
	}
	var r *refusal
	switch {
	case err != nil && strings.Contains(err.Error(), "OCI runtime"):
		return "", fmt.Errorf("it could not be started: %w", err)
	case refused(err, http.StatusNotFound), refused(err, http.StatusConflict):
		return "", fmt.Errorf("%w: the container does not run", ErrAway) // its end is told by Wait
	case errors.As(err, &r) && r.status < 500:
		return "", fmt.Errorf("it could not be started: %w", err)
	}
	return id, wrongAnswer(err)
}

// outcome waits for the command's end.
func (c *Container) outcome(ctx context.Context, id string) (int, error) {
	one, err := c.observe(ctx, id, (*execDetails).ended)
	if err != nil {
		return 0, err
	}
	return *one.ExitCode, nil
}

// observe waits until that holds for the command. The engine has no call that
// does.
func (c *Container) observe(ctx context.Context, id string, holds func(*execDetails) bool) (execDetails, error) {
	const first, last = 10 * time.Millisecond, 200 * time.Millisecond
	for pause := first; ; pause = min(2*pause, last) {
		one, err := c.x.engine.execInspect(ctx, id)
		if err != nil {
			return one, wrongAnswer(err)
		}
		if holds(&one) {
			return one, nil
		}
		select {
		case <-ctx.Done():
			return one, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// clear ends commands like this one that still run: one whose engine was away
// when its time was over, or that an agent which died has left. So there is at
// most one at a time, whatever goes wrong.
func (c *Container) clear(ctx context.Context, args []string) error {
	d, err := c.x.engine.inspect(ctx, c.id())
	if err != nil {
		return wrongAnswer(err)
	}
	for _, id := range d.ExecIDs {
		one, err := c.x.engine.execInspect(ctx, id)
		if err != nil || !one.Running || c.x.talking(id) || !slices.Equal(one.args(), args) {
			continue // it has ended meanwhile, or is somebody else's
		}
		if err := c.slay(id); err != nil {
			return fmt.Errorf("the one before still runs: %w", err)
		}
	}
	return nil
}

const slayTime = 5 * time.Second

// slay kills the process group of a command that was started, for which engines
// have no call, and waits for its end. An engine may not know yet that it runs,
// or as which process, though it has written something already. The number of
// its process is believed only if that is in the container's cgroup, and is held
// by a pidfd.
func (c *Container) slay(id string) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), slayTime, ErrAway)
	defer cancel()
	one, err := c.observe(ctx, id, func(d *execDetails) bool { return d.ended() || d.Running && d.Pid > 0 })
	if err != nil || one.ended() {
		return err
	}
	process, err := unix.PidfdOpen(one.Pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", one.Pid, err)
	}
	defer unix.Close(process) //nolint:errcheck // nothing was written
	if !inCgroup(fmt.Sprintf("/proc/%d/cgroup", one.Pid), c.id()) {
		return errors.New("the engine numbers processes differently from the agent")
	}
	if err := unix.Kill(-one.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", one.Pid, err)
	}
	if err := unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", one.Pid, err)
	}
	_, err = c.outcome(ctx, id)
	return err
}
