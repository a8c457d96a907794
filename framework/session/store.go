package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// ErrAnswerLost says that the connection broke before a write to the store
// was answered: it may have been done or not. Get tells.
var ErrAnswerLost = errors.New("the answer was lost with the connection: the write may have been done or not, get the key to know")

// Call asks the durable store and returns the number of the call, which is
// answered once by an [Answer] of that number. Reads survive the connection,
// a write that was sent does not, since sending it twice could do it twice.
func (s *Session) Call(m *wire.StateRequest) (uint64, error) {
	if n := m.ValueBytes(); n > wire.MaxStateValue {
		return 0, offers.Errorf(offers.TooLarge, "value: %d bytes; at most %d", n, wire.MaxStateValue)
	}
	n := s.number()
	s.calls[n] = &call{request: m}
	s.sendCall(n)
	return n, nil
}

// call is one that waits for its answer.
type call struct {
	request *wire.StateRequest
	sent    bool // on a connection; a write is on one at most
}

func (s *Session) sendCall(n uint64) {
	if s.live {
		s.calls[n].sent = true
		s.send(s.calls[n].request, numbered("state", n))
	}
}

// Forget drops a call that nobody waits for any more.
func (s *Session) Forget(call uint64) { delete(s.calls, call) }

func (s *Session) answered(m *wire.StateAnswer, request string) {
	number, ok := strings.CutPrefix(request, "state:")
	if n, err := strconv.ParseUint(number, 10, 64); ok && err == nil {
		s.finishCall(n, Answer{State: *m})
	}
}

func (s *Session) finishCall(n uint64, a Answer) {
	if _, ok := s.calls[n]; !ok {
		return
	}
	delete(s.calls, n)
	a.Call = n
	s.out.Answers = append(s.out.Answers, a)
}

// loseCalls fails the writes that a broken connection leaves unanswered.
func (s *Session) loseCalls() {
	for _, n := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[n]
		if op := c.request.Op; c.sent && (op == "put" || op == "delete") {
			s.finishCall(n, Answer{Err: fmt.Errorf("%s %s: %w", op, c.request.Key, ErrAnswerLost)})
		}
	}
}
