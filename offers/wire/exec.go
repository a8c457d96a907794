package wire

import (
	"errors"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Limits of a connection of [ExecProtocol].
const (
	ExecChunk  = 32 << 10  // bytes of data in one message
	ExecWindow = 16        // messages of data that were not taken yet, each way
	MaxExec    = 128 << 10 // bytes of one message
)

// ExecOptions are those of both ends. Neither sends more than the other has
// room for, see [Credit], so a queue that fills is a peer that breaks the rules.
var ExecOptions = Options{Message: MaxExec, Queue: 1024, Bytes: 2 << 20}

// FromExec is what an agent understands from somebody who runs a command.
var FromExec = Vocabulary{
	"start":  func() Message { return new(ExecStart) },
	"input":  func() Message { return new(ExecInput) },
	"resize": func() Message { return new(ExecResize) },
	"taken":  func() Message { return new(ExecTaken) },
}

// ToExec is what that one understands from the agent.
var ToExec = Vocabulary{
	"output": func() Message { return new(ExecOutput) },
	"taken":  func() Message { return new(ExecTaken) },
	"exit":   func() Message { return new(ExecExit) },
}

type (
	// ExecStart must be the first message, once.
	ExecStart struct {
		Argv     []string      `json:"argv"`
		Terminal *ExecTerminal `json:"terminal,omitempty"` // nil: plain streams
	}
	// ExecTerminal is the terminal that a command is given.
	ExecTerminal struct {
		Kind string `json:"kind,omitempty"` // its TERM
		ExecResize
	}
	// ExecResize tells the size of the terminal.
	ExecResize struct {
		Rows    uint16 `json:"rows"`
		Columns uint16 `json:"columns"`
	}
	// ExecInput is something that the command reads; End closes its standard
	// input behind it.
	ExecInput struct {
		Data []byte `json:"data,omitempty"`
		End  bool   `json:"end,omitempty"`
	}
	// ExecOutput is something that the command wrote, to stdout or stderr; with
	// a terminal all of it is stdout.
	ExecOutput struct {
		Stream string `json:"stream"`
		Data   []byte `json:"data"`
	}
	// ExecTaken gives back the room of so many messages of data.
	ExecTaken struct {
		Messages int `json:"messages"`
	}
	// ExecExit is the last message: how the command ended. Message says why it
	// did not, or not by itself; with Code 127 there is no such command, with
	// 126 it could not be started.
	ExecExit struct {
		Code    int    `json:"code"`
		Signal  string `json:"signal,omitempty"`  // "SIGKILL"; Code is 128 and its number then
		Message string `json:"message,omitempty"` // one sentence
	}
)

func (*ExecStart) Type() string  { return "start" }
func (*ExecInput) Type() string  { return "input" }
func (*ExecResize) Type() string { return "resize" }
func (*ExecTaken) Type() string  { return "taken" }
func (*ExecOutput) Type() string { return "output" }
func (*ExecExit) Type() string   { return "exit" }

// Validate returns an *offers.Error of code bad_message.
func (s *ExecStart) Validate() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return offers.Errorf(offers.BadMessage, "start: argv names no command")
	}
	for i, word := range s.Argv {
		if strings.ContainsRune(word, 0) {
			return offers.Errorf(offers.BadMessage, "start: argv[%d] holds a zero byte", i)
		}
	}
	if s.Terminal != nil && strings.ContainsRune(s.Terminal.Kind, 0) {
		return offers.Errorf(offers.BadMessage, "start: terminal.kind holds a zero byte")
	}
	return nil
}

// Credit is the room that the other end has for messages of data. One
// goroutine or several spend it, the one that reads the connection gives it back.
type Credit chan struct{}

var errOverdrawn = errors.New("more messages were taken than sent")

// NewCredit returns the credit of a new connection.
func NewCredit() Credit {
	c := make(Credit, ExecWindow)
	for range ExecWindow {
		c <- struct{}{}
	}
	return c
}

// Give takes that the other end has taken n messages.
func (c Credit) Give(n int) error {
	if n < 0 || n > ExecWindow {
		return errOverdrawn
	}
	for range n {
		select {
		case c <- struct{}{}:
		default:
			return errOverdrawn
		}
	}
	return nil
}
