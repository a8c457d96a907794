package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
)

// running returns a container that runs until the test ends, and its sandbox.
func (b *bench) running() (*docker.Container, string) {
	b.t.Helper()
	s := b.spec("f:t", "sleep=1000s")
	s.Env = append(s.Env, "OWN=value")
	c := b.prepare(s)
	c.Open()
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := c.Wait(func() { close(begun) }); !errors.Is(err, docker.ErrClosed) {
			b.t.Errorf("the container ended: %v", err)
		}
	}()
	b.t.Cleanup(func() { c.Close(); <-ended })
	<-begun
	return c, s.Sandbox
}

func TestBeside(t *testing.T) {
	b := newBench(t)
	c, _ := b.running()
	for _, row := range []struct {
		args []string
		want string // the beginning of the error
	}{
		{[]string{"/busy", "exit=0"}, ""},
		{[]string{"/busy", "exit=7"}, "the command ended with exit code 7"},
		{[]string{"/busy", "same=OWN=value", "same=MORE=m", "same=RINGMASTER_SANDBOX=/ringmaster/sandbox"}, ""},
		{[]string{"/busy", "line=made", "need=made"}, ""},
		{[]string{"/busy", "need=absent"}, "the command ended with exit code 99"},
		{[]string{"no-such-program"}, "it could not be started: "},
	} {
		err := c.Beside(t.Context(), row.args, []string{"MORE=m"}, patience)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want) || errors.Is(err, docker.ErrAway)) {
			t.Errorf("%q: %v", row.args, err)
		}
	}
}

// TestBesideForTooLong: a command that takes too long is killed with what it
// has started, and so is one whose caller leaves.
func TestBesideForTooLong(t *testing.T) {
	b := newBench(t)
	c, sandbox := b.running()
	args := []string{"/busy", "child=sleep=4711s", "line=begun", "sleep=4711s"}
	if err := c.Beside(t.Context(), args, nil, 300*time.Millisecond); err == nil || err.Error() != "it took more than 300ms" {
		t.Errorf("a command that hangs: %v", err)
	}
	if n := dockertest.Processes(t, "sleep=4711s"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the agent ends")
	args[2] = "line=again"
	left := make(chan struct{})
	go func() {
		defer close(left)
		b.await(filepath.Join(sandbox, "again"))
		cancel(why)
	}()
	err := c.Beside(ctx, args, nil, patience)
	<-left
	if !errors.Is(err, why) {
		t.Errorf("a caller that left: %v", err)
	}
	if n := dockertest.Processes(t, "sleep=4711s"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// TestBesideAfterACrash: what an agent that was killed has left running ends
// when its successor runs the same command, and nothing else does.
func TestBesideAfterACrash(t *testing.T) {
	b := newBench(t)
	c, _ := b.running()
	for _, step := range []string{"sleep=4712s", "sleep=4713s"} {
		body, err := json.Marshal(map[string]any{"Cmd": []string{"/busy", step}})
		if err != nil {
			t.Fatal(err)
		}
		var made struct {
			ID string `json:"Id"`
		}
		b.real.Do(http.MethodPost, "/containers/"+c.Identity().Container+"/exec", nil, bytes.NewReader(body), &made)
		b.real.Do(http.MethodPost, "/exec/"+made.ID+"/start", nil, strings.NewReader(`{"Detach":true}`), nil)
	}
	if err := c.Beside(t.Context(), []string{"/busy", "sleep=4712s"}, nil, 200*time.Millisecond); err == nil || err.Error() != "it took more than 200ms" {
		t.Error(err)
	}
	if left, others := dockertest.Processes(t, "sleep=4712s"), dockertest.Processes(t, "sleep=4713s"); left != 0 || others != 1 {
		t.Errorf("%d are left, and %d that are somebody else's", left, others)
	}
}

// TestKillWhileItStarts: an engine answers that a command runs before it knows
// which process that is; whoever leaves at that moment leaves nothing behind.
func TestKillWhileItStarts(t *testing.T) {
	b := newBench(t)
	proxy := dockertest.NewProxy(t, b.real)
	owner := "test-late-" + filepath.Base(filepath.Dir(filepath.Dir(proxy.Socket)))
	b.real.CleanUp(docker.OwnerLabel + "=" + owner)
	b.Executor = docker.New(docker.Config{Socket: proxy.Socket, Owner: owner, Logger: hclog.NewNullLogger()})
	c, _ := b.running()
	command, err := c.Exec([]string{"/busy", "out=ready", "sleep=4722s"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(command.Outputs()["stdout"], make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	proxy.Lag(3)
	command.Close()
	if n := dockertest.Processes(t, "sleep=4722s"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}
