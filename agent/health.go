package agent

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/health"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxChecks bounds the health checks that are under way at a time. The others
// wait: a check's timeout begins when it does.
const maxChecks = 32

// check asks a running task how it is, apart from the loop.
func (a *Agent) check(l tasks.Launch) {
	s := a.running[l.Ref()]
	if s == nil {
		return // it has ended
	}
	a.work.Go(func() {
		select {
		case a.checking <- struct{}{}:
		case <-a.stopped:
			return
		}
		failure := ""
		if err := a.ask(l, s.process); err != nil {
			failure = err.Error()
		}
		<-a.checking
		a.post(func() { a.machine.Checked(l.Ref(), failure, time.Now()) })
	})
}

// ask makes one health check.
func (a *Agent) ask(l tasks.Launch, p *process.Process) error {
	h := l.Task.Health
	ctx, cancel := context.WithTimeoutCause(a.ending, h.Patience(), fmt.Errorf("it took more than %s", h.Patience()))
	defer cancel()
	first := 0
	if ports := l.Task.Resources.Ports.Each(); len(ports) > 0 {
		first = int(ports[0])
	}
	switch {
	case h.HTTP != nil:
		return health.HTTP(ctx, h.HTTP, first)
	case h.TCP != nil:
		return health.TCP(ctx, h.TCP, first)
	}
	who, err := accountOf(l)
	if err != nil {
		return err
	}
	spec, err := specOf(besides(l, *h.Command), a.ID(), who, a.sandboxes.Path(l.Ref()))
	if err != nil {
		return err
	}
	spec.Env = a.visible(spec.Env, l)
	return p.Beside(ctx, spec)
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
