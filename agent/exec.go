package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// maxExecs bounds the commands that people run beside the tasks of one agent at
// a time. One more is refused: somebody waits for it.
const maxExecs = 32

// startTime is how long whoever has connected may take to say what to run.
const startTime = 10 * time.Second

// companion is a command that runs beside a task for somebody who talks to it.
// Its methods may be called side by side; Wait is called once, Close last.
type companion interface {
	Input() io.WriteCloser
	Outputs() map[string]io.Reader // by "stdout" and "stderr"; with a terminal stdout only
	Resize(record.Size) error
	Kill() // returns at once
	Wait() (record.Exit, error)
	Close() // ends what still reads and writes
}

var (
	_ companion = (*process.Command)(nil)
	_ companion = (*docker.Command)(nil)
)

// attended is a running task beside which a command is to run.
type attended struct {
	launch    tasks.Launch
	execution execution
	ended     <-chan struct{} // closed when the task has ended
}

// serveExec runs one command, for as long as the connection lasts.
func (a *Agent) serveExec(w http.ResponseWriter, r *http.Request, ref offers.TaskRef) error {
	t, err := a.attend(ref)
	if err != nil {
		return err
	}
	defer func() {
		<-a.attending
		a.work.Done()
	}()
	link, err := wire.Upgrade(w, r, wire.ExecProtocol, wire.ExecOptions)
	if err != nil {
		a.log.Debug("a connection was not upgraded", "from", r.RemoteAddr, "error", err)
		return nil // it has been answered
	}
	a.log.Info("somebody runs a command beside a task", "task", ref.String(), "from", r.RemoteAddr)
	talk := &talk{link: link, credit: wire.NewCredit(), inputs: make(chan *wire.ExecInput, wire.ExecWindow), gone: make(chan struct{})}
	talk.hold(t, a.stopped)
	return nil
}

// attend asks the loop for a task that runs, and counts the command in: the
// loop, and so the work that the agent's end waits for, goes on until then.
func (a *Agent) attend(ref offers.TaskRef) (t attended, err error) {
	done := make(chan struct{})
	told := a.post(func() {
		defer close(done)
		launch, runs := a.machine.Running(ref)
		s := a.running[ref]
		if !runs || s == nil {
			progress, _ := a.machine.Progress(ref)
			err = notRunning(ref, progress.State)
			return
		}
		select {
		case a.attending <- struct{}{}:
		default:
			err = offers.Errorf(offers.RateLimited, "%d commands run beside the tasks of agent %s already: end one first", maxExecs, a.config.Name)
			return
		}
		a.work.Add(1)
		t = attended{launch, s.execution, a.more(ref, true)}
	})
	if told {
		select {
		case <-done:
			return t, err
		case <-a.stopped:
			select {
			case <-done:
				return t, err
			default:
			}
		}
	}
	return attended{}, offers.Errorf(offers.Unavailable, "agent %s ends: ask again", a.config.Name)
}

// notRunning says why no command runs beside a task.
func notRunning(ref offers.TaskRef, state offers.State) error {
	why := ": commands run beside running tasks only"
	switch {
	case state == offers.Staging || state == offers.Starting:
		why = fmt.Sprintf(" yet, it is %s: ask again once it runs", state)
	case state == offers.Killing:
		why = " any more: it was told to end"
	case state.Terminal():
		why = " any more: it has ended"
	}
	return offers.Errorf(offers.TaskNotRunning, "task %s does not run%s", ref, why)
}

// exec runs a command beside the process.
func (t *hostTask) exec(l tasks.Launch, start *wire.ExecStart) (companion, error) {
	command := offers.Command{Argv: start.Argv, Env: terminalEnv(start.Terminal)}
	spec, err := t.beside(l, command)
	if err != nil {
		return nil, err
	}
	c, err := t.Exec(spec, sizeOf(start.Terminal))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// exec runs a command inside the container.
func (t *containerTask) exec(_ tasks.Launch, start *wire.ExecStart) (companion, error) {
	c, err := t.Container.Exec(start.Argv, variables(terminalEnv(start.Terminal)), sizeOf(start.Terminal))
	if err != nil {
		return nil, err
	}
	return c, nil
}

func terminalEnv(t *wire.ExecTerminal) map[string]string {
	if t == nil || t.Kind == "" {
		return nil
	}
	return map[string]string{"TERM": t.Kind}
}

func sizeOf(t *wire.ExecTerminal) *record.Size {
	if t == nil {
		return nil
	}
	return &record.Size{Rows: t.Rows, Columns: t.Columns}
}

// The codes of commands that never ran, as shells have them.
const (
	notStarted = 126
	notFound   = 127
)

// refusal tells why a command did not start.
func refusal(err error) *wire.ExecExit {
	out := &wire.ExecExit{Code: notStarted, Message: err.Error()}
	if errors.Is(err, fs.ErrNotExist) {
		out.Code = notFound
	}
	return out
}

// ending tells how a command ended.
func ending(exit record.Exit, err error) *wire.ExecExit {
	switch {
	case err != nil:
		return &wire.ExecExit{Code: 1, Message: err.Error()}
	case exit.Signal != "":
		return &wire.ExecExit{Code: 128 + int(unix.SignalNum(exit.Signal)), Signal: exit.Signal}
	}
	return &wire.ExecExit{Code: exit.Code}
}
