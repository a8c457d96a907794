package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/health"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxChecks bounds the health checks that are under way at a time. The others
// wait: a check's timeout begins when it does. Commands in containers are
// counted apart, so that an engine that hangs holds no others up.
const maxChecks = 32

// check asks a running task how it is, apart from the loop.
func (a *Agent) check(l tasks.Launch) {
	s := a.running[l.Ref()]
	if s == nil {
		return // it has ended
	}
	turns := a.checking
	if l.Task.Container != nil && l.Task.Health.Command != nil {
		turns = a.containers.checking
	}
	a.work.Go(func() {
		select {
		case turns <- struct{}{}:
		case <-a.stopped:
			return
		}
		err := a.ask(l, s.execution)
		<-turns
		a.post(func() { a.checked(l.Ref(), err) })
	})
}

// checked takes the outcome of a health check, in the loop.
func (a *Agent) checked(ref offers.TaskRef, err error) {
	switch {
	case err == nil:
		a.machine.Checked(ref, "", time.Now())
	case errors.Is(err, docker.ErrAway):
		a.machine.Unchecked(ref, time.Now())
	default:
		a.machine.Checked(ref, err.Error(), time.Now())
	}
}

// ask makes one health check.
func (a *Agent) ask(l tasks.Launch, e execution) error {
	h := l.Task.Health
	if h.Command != nil {
		return e.check(a.life, l)
	}
	ctx, cancel := within(a.life, h)
	defer cancel()
	first := 0
	if ports := l.Task.Resources.Ports.Each(); len(ports) > 0 {
		first = int(ports[0])
	}
	if h.HTTP != nil {
		return health.HTTP(ctx, h.HTTP, first)
	}
	return health.TCP(ctx, h.TCP, first)
}

// within returns a context that ends when a check has taken too long.
func within(ctx context.Context, h *offers.Health) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, h.Patience(), fmt.Errorf("it took more than %s", h.Patience()))
}

// check runs a check's command beside the process.
func (t *hostTask) check(ctx context.Context, l tasks.Launch) error {
	ctx, cancel := within(ctx, l.Task.Health)
	defer cancel()
	spec, err := t.beside(l, *l.Task.Health.Command)
	if err != nil {
		return err
	}
	return t.Beside(ctx, spec)
}

// beside says what the shim starts beside the task.
func (t *hostTask) beside(l tasks.Launch, c offers.Command) (record.Spec, error) {
	who, err := accountOf(l)
	if err != nil {
		return record.Spec{}, err
	}
	spec, err := specOf(besides(l, c), t.agent.ID(), who, t.agent.sandboxes.Path(l.Ref()))
	spec.Env = t.agent.visible(spec.Env, l)
	return spec, err
}

// check runs a check's command inside the container.
func (t *containerTask) check(ctx context.Context, l tasks.Launch) error {
	command := l.Task.Health.Command
	return t.Container.Beside(ctx, command.Args(), variables(command.Env), l.Task.Health.Patience())
}

// variables returns an environment as programs are given it.
func variables(env map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// besides returns the launch of a command that runs beside a task, with the
// task's surroundings.
func besides(l tasks.Launch, c offers.Command) tasks.Launch {
	env := maps.Clone(l.Task.Command.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, c.Env)
	c.Env, c.User, c.Dir = env, l.Task.Command.User, l.Task.Command.Dir
	l.Task.Command = &c
	return l
}
