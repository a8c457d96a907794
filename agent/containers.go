package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// containers runs tasks in containers of a Docker engine.
type containers struct {
	docker   *docker.Executor
	agent    *Agent
	run      string          // marks the containers of this run of the agent
	checking chan struct{}   // one token for each health check by a command
	barred   bool            // the agent is told to run none
	away     bool            // no engine answered when the agent began
	survey   []docker.Found  // what was there then; nil before it was looked for
	needed   bool            // there are, or may be, containers of earlier runs
	keep     map[string]bool // ids of those that are adopted; nil once the others are swept
	serves   bool            // the agent says that it runs containers
	gone     time.Time       // since when the engine does not answer; zero while it does
}

var (
	_ executor  = (*containers)(nil)
	_ execution = (*containerTask)(nil)
)

// Labels of this package's own, beside those of docker.
const (
	runLabel      = "ringmaster.run"      // which run of the agent made it
	acceptedLabel = "ringmaster.accepted" // tells tasks of one name apart
	folderLabel   = "ringmaster.folder"   // of the agent, for people
)

func newContainers(a *Agent) (*containers, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of the host: %w", err)
	}
	dir, err := filepath.EvalSymlinks(a.config.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	owner := ownerOf(host, dir)
	x := docker.New(docker.Config{Socket: a.config.DockerSocket, Owner: owner, Logger: a.log.Named("docker")})
	return &containers{docker: x, agent: a, run: rand.Text(), checking: make(chan struct{}, maxChecks)}, nil
}

// ownerOf returns what tells this folder's containers from those of others, on
// an engine that several hosts use too. It is not kept in the folder: one that
// was emptied still has its containers.
func ownerOf(host, dir string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + dir))
	return hex.EncodeToString(sum[:12])
}

// prepare makes the sandbox, fills it, and makes a container that is not
// started; its image is fetched first where that is needed.
func (x *containers) prepare(ctx context.Context, l tasks.Launch, _ *process.Process) (execution, error) {
	spec, owner, err := x.specOf(l)
	if err != nil {
		return nil, err
	}
	dir := ""
	if l.Task.Command != nil {
		dir = l.Task.Command.Dir
	}
	ref := l.Ref()
	if spec.Sandbox, err = x.agent.sandboxes.Create(ref, owner, dir); err != nil {
		return nil, err
	}
	if err := x.agent.fill(ctx, l, owner, spec.Sandbox); err != nil {
		return nil, err
	}
	if spec.Network != offers.NetworkNone {
		if err := checkPorts(l.Holding.Ports); err != nil {
			return nil, err
		}
	}
	spec.Fetching = func() {
		x.agent.post(func() { x.agent.machine.Waiting(ref, fmt.Sprintf("the image %q is fetched", spec.Image), time.Now()) })
	}
	if os.Getuid() == 0 {
		spec.Hand = func(uid, gid uint32) error { return x.agent.sandboxes.Give(ref, &record.User{UID: uid, GID: gid}) }
	}
	c, err := x.docker.Prepare(ctx, spec)
	switch {
	case errors.Is(err, docker.ErrImage):
		return nil, because{offers.ReasonImage, err}
	case err != nil:
		return nil, err
	}
	return &containerTask{Container: c}, nil
}

func (x *containers) adopt(l tasks.Launch, id record.Identity) execution {
	return &containerTask{Container: x.docker.Adopt(l.Ref().String(), id, x.agent.sandboxes.Path(l.Ref()))}
}

func (x *containers) started(l tasks.Launch) (record.Identity, bool) {
	if x.away {
		return record.Identity{}, false // the start of the agent waits for no engine
	}
	if x.survey == nil {
		ctx, cancel := context.WithTimeout(x.agent.life, sweepTime)
		defer cancel()
		found, err := x.docker.Survey(ctx)
		if err != nil {
			x.away = errors.Is(err, docker.ErrAway) || ctx.Err() != nil
			return record.Identity{}, false // the sweep tells about the engine
		}
		x.survey = append([]docker.Found{}, found...)
	}
	for _, f := range x.survey {
		if f.Key == l.Ref().String() && f.Started && f.Labels[acceptedLabel] == acceptedText(l) {
			return f.Identity, true
		}
	}
	return record.Identity{}, false
}

func acceptedText(l tasks.Launch) string { return l.Accepted.UTC().Format(time.RFC3339Nano) }

// sweepTime is how long the agent's start waits for the engine; what is not
// done by then is done when the engine answers.
const sweepTime = 10 * time.Second

func (x *containers) sweep(keep map[offers.TaskRef]record.Identity) ([]string, error) {
	ids := map[string]bool{}
	for _, id := range keep {
		if id.Container != "" {
			ids[id.Container] = true
		}
	}
	x.needed = len(ids) > 0 || x.agent.refusals.NoContainers == ""
	x.keep = ids
	if !x.needed || x.away {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(x.agent.life, sweepTime)
	defer cancel()
	unended, err := x.end(ctx)
	if errors.Is(err, docker.ErrAway) || ctx.Err() != nil {
		return nil, nil // the agent has said that the engine does not answer
	}
	x.keep = nil
	return unended, err
}

// The engine is asked every lookPause whether it is there, and has lookTime to
// answer.
const (
	lookPause = 2 * time.Second
	lookTime  = 10 * time.Second
)

// tidy looks after the engine: it tells the loop when one has come or has been
// gone for long, does what sweep could not once it answers, and removes what
// this run has left when the engine was away.
func (x *containers) tidy() {
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-x.agent.stopped:
			return
		}
		if !x.barred && !x.look() {
			continue
		}
		if x.needed && x.keep != nil {
			x.sweepLate()
		}
		if x.docker.Untidy() {
			if err := x.docker.Tidy(x.agent.life); err != nil && !errors.Is(err, docker.ErrAway) && x.agent.life.Err() == nil {
				x.agent.log.Warn("a container that is to go is still there", "error", err)
			}
		}
	}
}

// look asks whether the engine is there. One that has not answered for all of
// the agent's patience is gone: tasks that would only fail go elsewhere.
func (x *containers) look() (answers bool) {
	ctx, cancel := context.WithTimeoutCause(x.agent.life, lookTime, docker.ErrAway)
	defer cancel()
	err := x.docker.Ping(ctx)
	switch {
	case x.agent.life.Err() != nil:
		return false
	case err == nil:
		x.gone = time.Time{}
		x.needed = true // an earlier run may have left some when there was an engine
	case x.gone.IsZero():
		x.gone = time.Now()
	}
	gone := err != nil && time.Since(x.gone) >= x.agent.config.EnginePatience
	if x.serves && gone || !x.serves && err == nil {
		x.serves = !x.serves
		serves := x.serves
		x.agent.post(func() { x.agent.contain(serves) })
	}
	return err == nil
}

func (x *containers) sweepLate() {
	unended, err := x.end(x.agent.life)
	if errors.Is(err, docker.ErrAway) || x.agent.life.Err() != nil {
		return
	}
	x.keep = nil
	if err != nil {
		x.agent.log.Warn("some containers of earlier tasks are left", "error", err)
	}
	x.agent.post(func() {
		for _, ref := range strangers(unended, nil) {
			x.agent.machine.Lost(ref, lostRecord, time.Now())
		}
	})
}

// end removes the containers of earlier runs that nobody keeps, and returns the
// tasks of those that ran.
func (x *containers) end(ctx context.Context) (unended []string, failed error) {
	found, err := x.docker.Survey(ctx)
	if err != nil {
		return nil, fmt.Errorf("containers of earlier tasks: %w", err)
	}
	for _, f := range found {
		if x.keep[f.Identity.Container] || f.Labels[runLabel] == x.run {
			continue
		}
		if f.Runs {
			unended = append(unended, f.Key)
		}
		failed = errors.Join(failed, x.docker.Remove(ctx, f.Identity))
	}
	return unended, failed
}

// containerTask is one task's container.
type containerTask struct{ *docker.Container }

// Open starts the container, or removes it.
func (t *containerTask) Open(open bool) {
	if open {
		t.Container.Open()
		return
	}
	t.Container.Abandon()
}

// Wait tells how the container ended.
func (t *containerTask) Wait(runs func()) (tasks.How, error) {
	exit, err := t.Container.Wait(runs)
	how := tasks.How{Exit: exit}
	switch {
	case errors.Is(err, docker.ErrClosed):
		return how, errClosed
	case err != nil:
		how.Rebooted = t.Rebooted(time.Now())
		how.Lost, how.Failed, how.Reason = !how.Rebooted, err.Error(), offers.ReasonContainerLost
	case exit.Error == "" && !exit.Never:
		how.Rebooted = t.Rebooted(exit.Time)
	}
	return how, err
}

// Settled removes the container.
func (t *containerTask) Settled() error { return t.Remove() }
