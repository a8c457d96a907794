package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"
)

// output is the two files that a task's output goes to. How long they are says
// how much of it is there.
type output struct {
	files [2]*os.File
	skip  [2]int64 // bytes still to come that are there already
}

// openOutput opens the files beneath the sandbox, and nothing that the task
// may have put in their place: the agent has more rights than the task. So many
// bytes of them are not in the log.
func openOutput(sandbox string, aside [2]int64) (*output, error) {
	root, err := os.OpenRoot(sandbox)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	o := &output{}
	for i, name := range [...]string{"stdout", "stderr"} {
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.files[i] = f
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no plain file", name)
		}
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.skip[i] = max(0, info.Size()-aside[i])
	}
	return o, nil
}

// Close closes the files.
func (o *output) Close() error {
	var failed error
	for _, f := range o.files {
		if f != nil {
			failed = errors.Join(failed, f.Close())
		}
	}
	return failed
}

// frames reads a log. That it breaks off is the engine's doing, and not the
// files'.
type frames struct {
	ctx    context.Context
	engine *engine
	log    *bufio.Reader
}

func (f frames) Read(p []byte) (int, error) {
	n, err := f.log.Read(p)
	if err != nil {
		err = f.engine.away(f.ctx, err)
	}
	return n, err
}

// next returns the stream and the length of the next frame, or io.EOF after
// the last: one byte for the stream, three of nothing, four for the length.
func (f frames) next() (stream int, size int64, err error) {
	var head [8]byte
	if _, err := f.log.Peek(1); errors.Is(err, io.EOF) {
		return 0, 0, io.EOF
	}
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return 0, 0, err
	}
	if head[0] != 1 && head[0] != 2 {
		return 0, 0, fmt.Errorf("the engine's log has no stream %d", head[0])
	}
	return int(head[0]) - 1, int64(binary.BigEndian.Uint32(head[4:])), nil
}

// copy writes what is new in a log to the files, to the log's end.
func (o *output) copy(in frames) error {
	for {
		stream, size, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		known := min(size, o.skip[stream])
		if _, err := io.CopyN(io.Discard, in, known); err != nil {
			return err
		}
		o.skip[stream] -= known
		if _, err := io.CopyN(o.files[stream], in, size-known); err != nil {
			return err
		}
	}
}

// transfer brings the sandbox up to what the container has written.
func (c *Container) transfer(ctx context.Context, follow bool) error {
	log, err := c.x.engine.logs(ctx, c.id(), c.broke, follow)
	if err != nil {
		return wrongAnswer(err)
	}
	defer log.Close()
	return c.write(ctx, log)
}

func (c *Container) write(ctx context.Context, log io.Reader) error {
	o, err := openOutput(c.sandbox, c.aside)
	if err != nil {
		return err
	}
	defer o.Close()
	return o.copy(frames{ctx, c.x.engine, bufio.NewReaderSize(log, 64<<10)})
}

// follow transfers output while the container runs, over restarts of the
// engine too.
func (c *Container) follow(ctx context.Context) {
	if c.live != nil {
		// Ended by the container, the engine, or the end of the wait.
		stop := context.AfterFunc(ctx, func() { _ = c.live.Close() })
		err := c.write(ctx, c.live)
		stop()
		_ = c.live.Close() // a task must not wait for somebody who does not read
		if err == nil || errors.Is(err, ErrAway) {
			err = c.resume(ctx, time.Now())
		}
		c.lament(ctx, err)
	}
	for ctx.Err() == nil {
		err := patiently(ctx, func() error { return c.transfer(ctx, true) })
		if err != nil {
			c.lament(ctx, err)
			return // what is missing comes at the end
		}
		select {
		case <-ctx.Done():
		case <-time.After(firstPause): // until the end of the container is known
		}
	}
}

// resume finds out from where the log goes on after what came through a stream
// that broke off. The log of an engine that goes on has all of it in the end.
// One that died took along what it had sent and not yet logged, such as the
// beginning of a line: then what its successor logs is all new. It is another
// engine if it remembers nothing from before the break.
func (c *Container) resume(ctx context.Context, broke time.Time) error {
	var past []event
	err := patiently(ctx, func() (err error) {
		past, err = c.x.engine.history(ctx, "")
		return wrongAnswer(err)
	})
	if err != nil || slices.ContainsFunc(past, func(e event) bool { return time.Unix(0, e.Time).Before(broke) }) {
		return err
	}
	o, err := openOutput(c.sandbox, c.aside)
	if err != nil {
		return err
	}
	c.broke, c.aside = broke, o.skip
	return o.Close()
}

// drain transfers what is left once the container has ended: an engine may end
// a log that it follows before the last lines.
func (c *Container) drain() {
	c.lament(c.ctx, patiently(c.ctx, func() error { return c.transfer(c.ctx, false) }))
}

func (c *Container) lament(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !refused(err, http.StatusNotFound) {
		c.x.log.Warn("output of a container does not get to its sandbox", "task", c.key, "error", err)
	}
}
