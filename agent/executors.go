package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// The executors that an agent may have.
const (
	ProcessExecutor = "process"
	DockerExecutor  = "docker"
)

// DefaultDockerSocket is where the engine listens when nobody says otherwise.
const DefaultDockerSocket = docker.DefaultSocket

// executor runs tasks of one kind: processes of the host, or containers. Both
// outlive the agent. Safe for concurrent use.
type executor interface {
	// prepare makes everything that a task needs, up to its gate. A shim that
	// was reserved for it is used, or discarded.
	prepare(ctx context.Context, l tasks.Launch, reserved *process.Process) (execution, error)
	// adopt takes over what an earlier run of the agent has prepared.
	adopt(l tasks.Launch, id record.Identity) execution
	// started returns what runs, or ran, of a task that was launched then. It
	// is asked while the agent recovers; see Agent.identify.
	started(l tasks.Launch) (record.Identity, bool)
	// sweep ends everything of earlier runs that is not in keep, and returns
	// the tasks (framework:task) that had not ended.
	sweep(keep map[offers.TaskRef]record.Identity) ([]string, error)
}

// execution is one task's process or container. Its methods may be called
// side by side; Open and Wait are called by its supervisor, Open not at all
// for one that was adopted.
type execution interface {
	Identity() record.Identity
	// Open opens the gate, or with false closes it for good.
	Open(bool)
	// Wait returns how it ended, and calls runs before that if it is known to
	// run. errClosed is of an agent that ends; another error is of something
	// that is left behind.
	Wait(runs func()) (tasks.How, error)
	// Signal asks it to end, or kills it, and returns at once.
	Signal(force bool)
	// check runs the command of the task's health check; a sentence says why it
	// failed, docker.ErrAway that it could not be made.
	check(ctx context.Context, l tasks.Launch) error
	// exec starts a command beside the task for somebody who talks to it. A
	// fs.ErrNotExist says that there is no such program; any error is a sentence.
	exec(l tasks.Launch, start *wire.ExecStart) (companion, error)
	// Settled removes what was kept for the case that the end gets lost: it
	// is written down.
	Settled() error
	// Close makes Wait return.
	Close()
}

var errClosed = errors.New("the agent ends")

// because gives an error the reason that a status tells.
type because struct {
	reason string
	error
}

func (b because) Unwrap() error { return b.error }

// reasonOf returns the reason that an error was given, or "".
func reasonOf(err error) string {
	var b because
	if errors.As(err, &b) {
		return b.reason
	}
	return ""
}

// executorOf returns who runs a task.
func (a *Agent) executorOf(t *offers.Task) executor {
	if t.Container != nil {
		return a.containers
	}
	return a.processes
}

// probePatience is how long the agent's start waits for an engine that takes
// a call and does not answer it.
const probePatience = 3 * time.Second

// chooseExecutors finds out what runs on this host, and says so in the agent's
// attributes: docker=true where containers do, process=false where nothing
// else does. Where containers are not ruled out they may come and go with
// their engine, see contain.
func (a *Agent) chooseExecutors() error {
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	away := a.containers.docker.Answers(ctx)
	a.containers.away = away != nil
	named := a.config.Executors
	for _, name := range named {
		if name != ProcessExecutor && name != DockerExecutor {
			return fmt.Errorf("executors: %.60q is none; there are process and docker", name)
		}
	}
	if len(named) > 0 && !slices.Contains(named, ProcessExecutor) {
		a.refusals.NoProcesses = "the agent runs containers only"
		a.attribute(ProcessExecutor, "false")
	}
	switch {
	case len(named) > 0 && !slices.Contains(named, DockerExecutor):
		a.containers.barred = true
		a.refusals.NoContainers = "the agent runs no containers: docker is not among its executors"
	case len(named) == 0 && away != nil:
		a.refusals.NoContainers = noEngine
		a.log.Info("tasks in containers are refused until a Docker engine answers", "why", away)
	default:
		a.containers.serves = true
		a.attribute(DockerExecutor, "true")
		if away != nil {
			a.log.Warn("the Docker engine does not answer yet", "error", away)
		}
	}
	return nil
}

const noEngine = "the agent runs no containers: no Docker engine answers"

// contain takes, in the loop, that containers run from now on, or that their
// engine has been gone for long. Tasks that run in some are not touched. The
// masters learn of it by a new registration.
func (a *Agent) contain(serves bool) {
	delete(a.own, DockerExecutor)
	if a.refusals.NoContainers = noEngine; serves {
		a.refusals.NoContainers = ""
		a.own[DockerExecutor] = "true"
	}
	maps.Copy(a.own, a.config.Attributes)
	a.machine.Refuse(a.refusals)
	a.self.Attributes = a.allAttributes()
	a.log.Info("the Docker engine has come or gone", "containers", serves)
	a.introduceAgain("its executors have changed")
}

// attribute says something about the agent, unless its operator has done so.
func (a *Agent) attribute(name, value string) {
	if _, given := a.self.Attributes[name]; !given {
		a.self.Attributes[name] = value
	}
}
