package agent

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// byeTime is how long the other end may take to leave once it was told of the
// end. A connection that is closed while something it has sent is not read could
// lose what it is told.
const byeTime = 5 * time.Second

// talk is one connection of somebody who runs a command. What the command
// writes waits in its pipes until the other end has room for it, and what that
// sends beyond the room here ends the talk: nobody holds up, or fills, more than
// his own connection.
type talk struct {
	link   wire.Link
	credit wire.Credit
	inputs chan *wire.ExecInput // closed when the link has ended
	gone   chan struct{}        // closed when the link has ended
}

// hold runs the command that the other end names, and returns when it has ended
// and nothing of the talk is left.
func (t *talk) hold(beside attended, stopped <-chan struct{}) {
	c, exit := t.start(beside)
	if c == nil {
		t.send(exit)
		bye := time.AfterFunc(byeTime, func() { t.link.End("there is no command") })
		defer bye.Stop()
		for {
			if _, err := t.link.Receive(); err != nil {
				t.link.Close("there is no command")
				return
			}
		}
	}
	var work sync.WaitGroup
	work.Go(func() { t.hear(c) })
	work.Go(func() { t.feed(c.Input()) })
	t.send(t.attend(c, beside.ended, stopped))
	c.Close()
	bye := time.AfterFunc(byeTime, func() { t.link.End("the command has ended") })
	work.Wait()
	bye.Stop()
	t.link.Close("the command has ended")
}

// start starts the command; without one it says what to answer.
func (t *talk) start(beside attended) (companion, *wire.ExecExit) {
	late := time.AfterFunc(startTime, func() { t.link.End("nothing was said") })
	frame, err := t.link.Receive()
	late.Stop()
	if err != nil {
		return nil, refusal(err)
	}
	m, _, err := wire.Decode(wire.FromExec, frame)
	start, ok := m.(*wire.ExecStart)
	switch {
	case err != nil:
	case !ok:
		err = offers.Errorf(offers.BadMessage, "the first message is %q; it is start", m.Type())
	default:
		err = start.Validate()
	}
	if err != nil {
		return nil, refusal(err)
	}
	c, err := beside.execution.exec(beside.launch, start)
	if err != nil {
		return nil, refusal(err)
	}
	return c, nil
}

// attend sees the command to its end, which comes with that of the link, of
// the task or of the agent, and returns it once the other end has all that it
// wrote.
func (t *talk) attend(c companion, ended, stopped <-chan struct{}) *wire.ExecExit {
	var pumps sync.WaitGroup
	for stream, from := range c.Outputs() {
		pumps.Go(func() { t.pump(stream, from) })
	}
	type outcome struct {
		exit record.Exit
		err  error
	}
	over := make(chan outcome, 1)
	go func() {
		exit, err := c.Wait()
		over <- outcome{exit, err}
	}()
	why := ""
	select {
	case how := <-over:
		over <- how
	case <-ended:
		why = "the task has ended"
	case <-stopped:
		why = "the agent ends"
	case <-t.gone:
	}
	c.Kill()
	how := <-over
	pumps.Wait()
	for range wire.ExecWindow { // all of it is back when all has been taken
		t.spend()
	}
	out := ending(how.exit, how.err)
	if why != "" {
		out.Message = why
	}
	return out
}

// spend waits for room at the other end; false says that it has gone.
func (t *talk) spend() bool {
	select {
	case <-t.credit:
		return true
	case <-t.gone:
		return false
	}
}

// pump sends on what the command writes.
func (t *talk) pump(stream string, from io.Reader) {
	data := make([]byte, wire.ExecChunk)
	for t.spend() {
		n, err := from.Read(data)
		if n > 0 {
			t.send(&wire.ExecOutput{Stream: stream, Data: data[:n]})
		} else {
			_ = t.credit.Give(1) // it was not used; a peer that has given too much back has had its answer
		}
		if err != nil {
			return
		}
	}
}

// hear does what the other end says until the link ends.
func (t *talk) hear(c companion) {
	defer close(t.inputs)
	defer close(t.gone)
	for {
		frame, err := t.link.Receive()
		if err != nil {
			return
		}
		m, _, err := wire.Decode(wire.FromExec, frame)
		if errors.Is(err, &offers.Error{Code: offers.UnknownType}) {
			continue
		}
		if err == nil {
			err = t.obey(c, m)
		}
		if err != nil {
			t.link.End(err.Error())
			return
		}
	}
}

// obey does what one message says; an error breaks the rules of the talk.
func (t *talk) obey(c companion, m wire.Message) error {
	switch m := m.(type) {
	case *wire.ExecTaken:
		return t.credit.Give(m.Messages)
	case *wire.ExecResize:
		return c.Resize(record.Size{Rows: m.Rows, Columns: m.Columns})
	case *wire.ExecInput:
		if len(m.Data) > wire.ExecChunk {
			return offers.Errorf(offers.TooLarge, "input: more than %d bytes at once", wire.ExecChunk)
		}
		select {
		case t.inputs <- m:
			return nil
		default:
			return offers.Errorf(offers.RateLimited, "input: more than %d messages that were not taken yet", wire.ExecWindow)
		}
	}
	return offers.Errorf(offers.BadMessage, "%s has its place at the beginning", m.Type())
}

// feed gives the command what it reads. What comes after its end, or after it
// has closed its input, is taken all the same: whoever sends it learns of the
// end by the end.
func (t *talk) feed(to io.WriteCloser) {
	var broken error
	for in := range t.inputs {
		if broken == nil {
			_, broken = to.Write(in.Data)
		}
		if in.End && broken == nil {
			broken = errors.Join(to.Close(), io.ErrClosedPipe)
		}
		t.send(&wire.ExecTaken{Messages: 1})
	}
}

// send says something; a link that does not take it has ended, which hear
// notices.
func (t *talk) send(m wire.Message) {
	if frame, err := wire.Encode(m, ""); err == nil {
		_ = t.link.Send(frame)
	}
}
