package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// execTalk is our end of the connection to a command. It reads the connection
// also while nobody reads what comes out here: an agent sends no more than the
// room that it was given back.
type execTalk struct {
	link     wire.Link
	credit   wire.Credit
	in       io.Reader
	out, err io.Writer
	outputs  chan *wire.ExecOutput // closed when no more come
	over     chan struct{}         // closed when the link has ended, or exit has come
	exit     *wire.ExecExit        // written before over is closed
	failure  error                 // likewise
}

func newExecTalk(link wire.Link, c *cli.Context) *execTalk {
	return &execTalk{
		link: link, credit: wire.NewCredit(), in: c.App.Reader, out: c.App.Writer, err: c.App.ErrWriter,
		outputs: make(chan *wire.ExecOutput, wire.ExecWindow), over: make(chan struct{}),
	}
}

// run starts the command and returns how it ended; an error says that this is
// not known. The end of ctx ends the connection, and so the command. tty is nil
// for plain streams.
func (t *execTalk) run(ctx context.Context, start *wire.ExecStart, tty *terminal) (*wire.ExecExit, error) {
	defer t.link.Close("done")
	stop := context.AfterFunc(ctx, func() { t.link.End("interrupted") })
	defer stop()
	if err := t.send(start); err != nil {
		return nil, err
	}
	var work sync.WaitGroup
	work.Go(t.hear)
	work.Go(t.show)
	if tty != nil {
		work.Go(func() { t.follow(tty) })
	}
	// Nothing ends a read of standard input: that goroutine has the life of the
	// process, and no more to say once the command has ended.
	go t.feed()
	work.Wait()
	return t.exit, t.failure
}

func (t *execTalk) send(m wire.Message) error {
	frame, err := wire.Encode(m, "")
	if err != nil {
		return err
	}
	return t.link.Send(frame)
}

// hear takes in what the agent says.
func (t *execTalk) hear() {
	defer close(t.over)
	defer close(t.outputs)
	for t.exit == nil {
		frame, err := t.link.Receive()
		if err == nil {
			err = t.take(frame)
		}
		if err != nil {
			t.failure = err
			t.link.End("not understood")
			return
		}
	}
}

func (t *execTalk) take(frame []byte) error {
	m, _, err := wire.Decode(wire.ToExec, frame)
	switch m := m.(type) {
	case *wire.ExecOutput:
		select {
		case t.outputs <- m:
		default:
			return errors.New("the agent sends more than it may")
		}
	case *wire.ExecTaken:
		return t.credit.Give(m.Messages)
	case *wire.ExecExit:
		t.exit = m
	}
	if errors.Is(err, &offers.Error{Code: offers.UnknownType}) {
		return nil
	}
	return err
}

// show writes what the command writes, and gives back its room. When that can't
// be written any more, as into a pipe whose reader has left, the command ends.
func (t *execTalk) show() {
	for m := range t.outputs {
		to := t.out
		if m.Stream == "stderr" {
			to = t.err
		}
		_, err := to.Write(m.Data)
		if err == nil {
			err = t.send(&wire.ExecTaken{Messages: 1})
		}
		if err != nil {
			t.link.End(fmt.Sprintf("the output is not taken: %v", err))
		}
	}
}

// feed sends what is typed, or comes in, to its end.
func (t *execTalk) feed() {
	data := make([]byte, wire.ExecChunk)
	for {
		n, err := t.in.Read(data)
		select {
		case <-t.credit:
		case <-t.over:
			return
		}
		if t.send(&wire.ExecInput{Data: data[:n], End: err != nil}) != nil || err != nil {
			return
		}
	}
}

// follow tells the command of every new size of the terminal.
func (t *execTalk) follow(tty *terminal) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-changed:
		case <-t.over:
			return
		}
		if size, err := tty.size(); err != nil || t.send(&size) != nil {
			return
		}
	}
}
