package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Command is a command that runs inside a container for somebody who talks to
// it. Its methods may be called side by side; Wait is called once, Close last.
type Command struct {
	c        *Container
	id       string // the engine's
	terminal bool
	conn     net.Conn
	from     *bufio.Reader     // of conn
	outputs  [2]*io.PipeReader // stdout and stderr
	split    chan struct{}     // closed when no more comes
	kill     sync.Once
	work     sync.WaitGroup
}

// Exec starts a command inside the container, as its user, in its folder, with env
// beside its environment: with a terminal unless size is nil, or with plain
// streams. The error is one sentence. That a program is not in the container is
// told as the engine does: in the place of output, with code 126 or 127.
func (c *Container) Exec(args, env []string, size *record.Size) (*Command, error) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, beginTime, ErrAway)
	defer cancel()
	terminal := size != nil
	id, err := c.x.engine.execCreate(ctx, c.id(), execBody{Cmd: args, Env: env, Tty: terminal, AttachStdin: true, AttachStdout: true, AttachStderr: !terminal})
	if err != nil {
		return nil, wrongAnswer(err)
	}
	c.x.talk(id, true)
	conn, from, err := c.x.engine.execTalk(ctx, id, terminal)
	if err != nil {
		c.x.talk(id, false)
		if strings.Contains(err.Error(), "OCI runtime") {
			return nil, fmt.Errorf("it could not be started: %w", err)
		}
		return nil, wrongAnswer(err)
	}
	e := &Command{c: c, id: id, terminal: terminal, conn: conn, from: from, split: make(chan struct{})}
	var to [2]*io.PipeWriter
	for i := range to {
		e.outputs[i], to[i] = io.Pipe()
	}
	e.work.Go(func() { e.share(to) })
	if terminal {
		e.work.Go(func() { e.size(*size) })
	}
	return e, nil
}

// size gives the terminal its first size, once the engine has it.
func (e *Command) size(s record.Size) {
	for range 50 {
		if e.Resize(s) == nil {
			return
		}
		select {
		case <-e.split:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// share deals out what the command writes until no more comes.
func (e *Command) share(to [2]*io.PipeWriter) {
	defer close(e.split)
	var err error
	if e.terminal {
		_, err = io.Copy(to[0], e.from)
	} else {
		in := frames{context.Background(), e.c.x.engine, e.from}
		for err == nil {
			var stream int
			var size int64
			if stream, size, err = in.next(); err == nil {
				_, err = io.CopyN(to[stream], in, size)
			}
		}
	}
	for _, w := range to {
		_ = w.CloseWithError(err) // io.EOF at the end
	}
}

// Input is what the command reads. With a terminal its close says nothing.
func (e *Command) Input() io.WriteCloser { return input{e} }

type input struct{ e *Command }

func (i input) Write(p []byte) (int, error) { return i.e.conn.Write(p) }

func (i input) Close() error {
	half, ok := i.e.conn.(interface{ CloseWrite() error })
	if i.e.terminal || !ok {
		return nil
	}
	return half.CloseWrite()
}

// Outputs are what the command writes, by "stdout" and "stderr"; with a
// terminal there is stdout only. They are to be read for the command to go on.
func (e *Command) Outputs() map[string]io.Reader {
	if e.terminal {
		return map[string]io.Reader{"stdout": e.outputs[0]}
	}
	return map[string]io.Reader{"stdout": e.outputs[0], "stderr": e.outputs[1]}
}

// Resize tells the command that its terminal has another size.
func (e *Command) Resize(s record.Size) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), slayTime, ErrAway)
	defer cancel()
	return e.c.x.engine.execResize(ctx, e.id, s)
}

// Kill ends the command with its process group, and returns at once. What it has
// written and nobody has read is lost.
func (e *Command) Kill() {
	e.kill.Do(func() {
		e.work.Go(func() {
			if err := e.c.slay(e.id); err != nil {
				e.c.x.log.Warn("a command that runs in a container for nobody could not be killed", "task", e.c.key, "error", err)
			}
			_ = e.conn.Close() // it may be closed
			for _, r := range e.outputs {
				_ = r.Close() // it never fails
			}
		})
	})
}

// Wait returns how the command ended.
func (e *Command) Wait() (record.Exit, error) {
	<-e.split
	ctx, cancel := context.WithTimeoutCause(context.Background(), beginTime, ErrAway)
	defer cancel()
	code, err := e.c.outcome(ctx, e.id)
	if err != nil {
		return record.Exit{}, fmt.Errorf("nobody knows how the command ended: %w", err)
	}
	return record.Exit{Code: code}, nil
}

// Close gives back what the command has open, and ends it.
func (e *Command) Close() {
	e.Kill()
	e.work.Wait()
	e.c.x.talk(e.id, false)
}

// talk notes whether somebody talks to a command: that is no health check's, and
// not ended in favour of the next.
func (x *Executor) talk(id string, on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if on {
		x.talks[id] = true
	} else {
		delete(x.talks, id)
	}
}

func (x *Executor) talking(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.talks[id]
}

// execTalk starts a command and returns the connection to it, which the caller
// closes. The standard library's client would not let go of one half of it.
func (e *engine) execTalk(ctx context.Context, exec string, terminal bool) (net.Conn, *bufio.Reader, error) {
	version, err := e.speak(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, nil, e.away(ctx, err)
	}
	held := context.AfterFunc(ctx, func() { _ = conn.Close() })
	from, err := e.upgrade(ctx, conn, "/v"+version+"/exec/"+exec+"/start", terminal)
	if !held() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // of no use
		return nil, nil, err
	}
	return conn, from, nil
}

// upgrade asks on a connection for that to become the command's.
func (e *engine) upgrade(ctx context.Context, conn net.Conn, path string, terminal bool) (*bufio.Reader, error) {
	body := strings.NewReader(`{"Detach":false,"Tty":` + strconv.FormatBool(terminal) + `}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the Docker engine: %w", err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Connection": {"Upgrade"}, "Upgrade": {"tcp"}}
	if err := request.Write(conn); err != nil {
		return nil, e.away(ctx, err)
	}
	from := bufio.NewReaderSize(conn, 64<<10)
	answer, err := http.ReadResponse(from, request)
	if err != nil {
		return nil, e.away(ctx, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return from, nil
	case answer.StatusCode >= 400:
		return nil, e.refusal(answer)
	}
	return nil, errors.New("the Docker engine starts commands only for those who don't talk to them")
}
