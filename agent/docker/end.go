package docker

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// end waits for the end, whatever happens to the engine meanwhile.
func (c *Container) end(runs func()) (exit record.Exit, err error) {
	code, known := 0, false // what a wait has told
	err = patiently(c.ctx, func() error {
		for {
			d, err := c.x.engine.inspect(c.ctx, c.id())
			switch {
			case refused(err, http.StatusNotFound) && known:
				exit = exitOf(code, false, time.Now())
				return nil
			case refused(err, http.StatusNotFound):
				exit, err = c.remembered(false)
				return wrongAnswer(err)
			case err != nil:
				return wrongAnswer(err)
			case d.State.Running:
				runs()
				if code, err = c.x.engine.wait(c.ctx, c.id()); err == nil {
					known = true
				} else if !refused(err, http.StatusNotFound) {
					return wrongAnswer(err)
				}
				continue
			case d.State.StartedAt.IsZero():
				exit, err = c.unstarted(d.State)
				return wrongAnswer(err)
			}
			exit = exitOf(d.State.ExitCode, d.State.OOMKilled, d.State.FinishedAt)
			if exit.Signal == "SIGKILL" && !exit.OOM && !c.force.Load() {
				exit.OOM = c.outOfMemory()
			}
			return nil
		}
	})
	return exit, err
}

// outOfMemory asks a little longer whether a container that somebody killed was
// out of memory: an engine may hear of that after the end. On cgroups of
// version 1 a busy one may never hear of it.
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
// its last events.
func (c *Container) fence() (record.Exit, error) {
	if err := c.x.engine.remove(c.ctx, c.id(), false); err != nil {
		return record.Exit{}, err
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
		return record.Exit{}, ErrLost
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
