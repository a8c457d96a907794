package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// end waits for the end, whatever happens to the engine meanwhile.
func (c *Container) end(runs func()) (exit record.Exit, err error) {
	code, known := 0, false // what a wait has told
	ran := c.opened         // or it was seen to
	var first sighting
	err = patiently(c.ctx, func() error {
		for {
			d, err := c.x.engine.inspect(c.ctx, c.id())
			switch {
			case refused(err, http.StatusNotFound) && known:
				exit = exitOf(code, false, time.Now())
				exit.OOM = c.wasKilled(exit) && killedForMemory(c.x.kernel, c.id(), first)
				return nil
			case refused(err, http.StatusNotFound):
				exit, err = c.remembered(false)
				exit.OOM = exit.OOM || c.wasKilled(exit) && killedForMemory(c.x.kernel, c.id(), first)
				return wrongAnswer(err)
			case err != nil:
				return wrongAnswer(err)
			case d.State.Running:
				runs()
				ran = true
				if first.pid != d.State.Pid {
					first = sighted(d.State.Pid)
				}
				if code, err = c.wait(); err == nil {
					known = true
				} else if !errors.Is(err, errLook) && !refused(err, http.StatusNotFound) {
					return wrongAnswer(err)
				}
				continue
			case d.State.StartedAt.IsZero() && ran:
				return wrongAnswer(c.orphaned())
			case d.State.StartedAt.IsZero():
				exit, err = c.unstarted(d.State)
				return wrongAnswer(err)
			}
			exit = exitOf(d.State.ExitCode, d.State.OOMKilled, d.State.FinishedAt)
			if !exit.OOM && c.wasKilled(exit) {
				exit.OOM = killedForMemory(c.x.kernel, c.id(), first) || c.outOfMemory()
			}
			return nil
		}
	})
	return exit, err
}

var (
	errLook     = errors.New("it is time to look at the container again")
	errOrphaned = fmt.Errorf("%w: the engine died when it started, and lost sight of it; what was left of it is killed", ErrLost)
)

// wait returns the exit code, or errLook after a while: an engine that died
// while it started a container may say for a moment that it runs, and then
// forget that for good.
func (c *Container) wait() (int, error) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.x.look, errLook)
	defer cancel()
	return c.x.engine.wait(ctx, c.id())
}

// orphaned ends a container of which its engine has lost sight: what runs in it
// is nobody's any more, and would never be told of.
func (c *Container) orphaned() error {
	if err := c.x.engine.remove(c.ctx, c.id(), true); err != nil {
		return err
	}
	c.x.log.Warn("the engine has lost sight of a container", "task", c.key, "container", c.id(), "killed", killAll(c.id()))
	return errOrphaned
}

// killAll kills the processes in the cgroups of a container, and returns how
// many there were.
func killAll(container string) (killed int) {
	all, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		panic("docker: " + err.Error()) // the pattern is good
	}
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !inCgroup(path, container) {
			continue
		}
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		if inCgroup(path, container) && unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		_ = unix.Close(process) // nothing was written
	}
	return killed
}

// inCgroup reports whether a process, by its list of them, is in a cgroup of
// that container.
func inCgroup(path, container string) bool {
	groups, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(groups), container)
}

// wasKilled tells of a container that somebody killed, and not its agent.
func (c *Container) wasKilled(exit record.Exit) bool {
	return exit.Signal == "SIGKILL" && !c.force.Load()
}

// outOfMemory asks a little longer whether a container that somebody killed was
// out of memory: an engine may hear of that after the end. On cgroups of
// version 1 a busy one may never hear of it, since a group that has gone can't
// be asked any more; the kernel's log is the witness that does not go.
func (c *Container) outOfMemory() bool {
	const tries = 10
	for range tries {
		d, err := c.x.engine.inspect(c.ctx, c.id())
		if err != nil || d.State.OOMKilled {
			return err == nil
		}
		past, err := c.x.engine.history(c.ctx, c.id())
		if err != nil || slices.ContainsFunc(past, func(e event) bool { return e.Action == "oom" }) {
			return err == nil
		}
		select {
		case <-c.ctx.Done():
			return false
		case <-time.After(firstPause):
		}
	}
	return false
}

// wrongAnswer takes an engine that answers with its own trouble for one that
// is away: it says nothing about the task.
func wrongAnswer(err error) error {
	var r *refusal
	if errors.As(err, &r) && r.status >= 500 {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return err
}

// unstarted takes that a container was not started, or could not be.
func (c *Container) unstarted(s state) (record.Exit, error) {
	if s.Error != "" {
		return record.Exit{Error: sentence(s.Error), Time: time.Now().UTC()}, nil
	}
	exit, err := c.fence()
	if refused(err, http.StatusConflict) {
		err = fmt.Errorf("%w: %w", ErrAway, err) // it runs after all, which is seen next time
	}
	return exit, err
}

// fence makes sure that a container which was not started never will be. Its
// start may be under way in the engine, ordered by an agent that has died
// meanwhile. Removing it without force and starting it exclude each other
// there: a running one is not removed, and one that is being removed is not
// started. What was started and ended in between is in the engine's memory of
// its last events. An engine that died while it started one may believe the
// same of a container that runs.
func (c *Container) fence() (record.Exit, error) {
	if err := c.x.engine.remove(c.ctx, c.id(), false); err != nil {
		return record.Exit{}, err
	}
	if killAll(c.id()) > 0 {
		return record.Exit{}, errOrphaned
	}
	return c.remembered(true)
}

// remembered returns how a container ended that is gone, from the engine's
// memory of its last events: somebody has removed it, or a fence whose agent
// died before it could write down what came out. It never ran where the engine
// remembers its making and no start, or if it was seen unstarted just before
// it went.
func (c *Container) remembered(unstarted bool) (record.Exit, error) {
	past, err := c.x.engine.history(c.ctx, c.id())
	if err != nil {
		return record.Exit{}, err
	}
	var exit record.Exit
	started, ended, oom := false, false, false
	for _, e := range past {
		switch e.Action {
		case "create":
			unstarted = true
		case "start":
			started = true
		case "oom":
			oom = true
		case "die":
			code, err := strconv.Atoi(e.Actor.Attributes["exitCode"])
			if ended = err == nil; ended {
				exit = exitOf(code, oom, time.Unix(0, e.Time))
			}
		}
	}
	switch {
	case ended:
		return exit, nil
	case started || !unstarted:
		return record.Exit{}, fmt.Errorf("%w: somebody has removed it", ErrLost)
	default:
		return record.Exit{Never: true, Time: time.Now().UTC()}, nil
	}
}

// exitOf reads an engine's exit code, in which 128+n stands for signal n. A
// program that exits with such a code of its own can't be told from that.
func exitOf(code int, oom bool, at time.Time) record.Exit {
	exit := record.Exit{Code: code, OOM: oom, Time: at.UTC()}
	if code > 128 {
		if name := unix.SignalName(unix.Signal(code - 128)); name != "" {
			exit.Code, exit.Signal = 0, name
		}
	}
	return exit
}

// Rebooted reports whether the container was made before the host restarted
// and had not ended by then: an engine finds it ended when it comes up.
func (c *Container) Rebooted(ended time.Time) bool {
	boot, err := record.BootID()
	if err != nil || boot == c.identity.Boot {
		return false
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return true
	}
	return ended.After(time.Now().Add(-time.Duration(info.Uptime) * time.Second))
}
