package master

import (
	"errors"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// session is one websocket connection to a framework or an agent. Its reading
// goroutine decodes and judges every message at the door, and hands what is
// left to do to the loop; the loop answers through send.
type session struct {
	loop      *loop
	link      wire.Link
	principal door.Principal
	door      *door.Door
	prefix    door.Action
}

// send queues one message. A link that can't take it is closed by itself, and
// its reader then ends the session.
func (s *session) send(m wire.Message, requestID string) {
	frame, err := wire.Encode(m, requestID)
	if err != nil {
		s.loop.logger.Error("a message could not be written", "type", m.Type(), "error", err)
		return
	}
	if err := s.link.Send(frame); errors.Is(err, wire.ErrSlow) {
		s.loop.logger.Warn("a connection was closed because its reader is too slow")
	}
}

// refuse answers a request with an error.
func (s *session) refuse(err error, requestID string) {
	var known *offers.Error
	if !errors.As(err, &known) {
		known = offers.Errorf(offers.Internal, "%s", err)
	}
	s.send(&wire.ErrorMessage{Code: known.Code, Message: known.Message}, requestID)
}

// cut ends the connection without waiting, since the loop must not; its reader
// then does.
func (s *session) cut(reason string) { s.link.End(reason) }

// read reads messages until the link ends. handle is called for each one that
// could be read and may pass; it reports false to end the session.
func (s *session) read(vocabulary wire.Vocabulary, handle func(wire.Message, string) bool) {
	for {
		frame, err := s.link.Receive()
		if err != nil {
			return
		}
		m, env, err := wire.Decode(vocabulary, frame)
		if err == nil {
			err = s.door.Admit(s.principal, s.prefix+door.Action(env.Type), "")
		}
		switch {
		case errors.Is(err, &offers.Error{Code: offers.UnknownType}):
			// Newer peers may know more than we do.
			s.refuse(err, env.RequestID)
		case err != nil:
			s.refuse(err, env.RequestID)
		case !handle(m, env.RequestID):
			return
		}
	}
}

// printableName refuses names that are empty, too long or not printable.
func printableName(field, name string) error {
	if name == "" || len(name) > 256 || !offers.Printable(name) || strings.TrimSpace(name) == "" {
		return offers.Errorf(offers.BadMessage, "%s is empty, not printable or longer than 256 bytes", field)
	}
	return nil
}
