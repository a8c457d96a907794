package lead

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	maxKey  = 512                      // bytes of a key in a framework's store
	maxKeys = wire.MaxMessage - 64<<10 // bytes of the keys in one answer, as they are in JSON
)

// ReadsState reports whether a message reads what is replicated and so needs a
// check of the leadership before it is handled. Of a reconcile the answer
// "unknown" is taken as proof: a leader of the past would give it for what a
// later one has launched.
func ReadsState(m wire.Message) bool {
	switch m := m.(type) {
	case *wire.StateRequest:
		return m.Op == "get" || m.Op == "list"
	case *wire.Reconcile:
		return true
	}
	return false
}

// prepareStore answers requests to the framework's durable store.
func (s *Framework) prepareStore(m *wire.StateRequest, request string) Work {
	err := validStoreRequest(m)
	return func(c *Core) {
		if err != nil {
			refuse(s.peer, err, request)
			return
		}
		answer := &wire.StateAnswer{Op: m.Op, Key: m.Key}
		switch m.Op {
		case "get":
			e := c.state().Entry(s.id, m.Key)
			answer.Value, answer.Version = json.RawMessage(e.Value), e.Version
			s.peer.Send(answer, request)
		case "list":
			answer.Keys = []string{}
			for key := range c.state().Keys(s.id, m.Key) {
				answer.Keys = append(answer.Keys, key)
			}
			if text, err := json.Marshal(answer.Keys); err != nil || len(text) > maxKeys {
				refuse(s.peer, offers.Errorf(offers.TooLarge, "state: the keys have more than %d bytes together: name a beginning of them as key", maxKeys), request)
				return
			}
			s.peer.Send(answer, request)
		case "put":
			if err := s.storable(c, m); err != nil {
				refuse(s.peer, err, request)
				return
			}
			c.Commit(state.Command{Put: &state.Put{Framework: s.id, Key: m.Key, Value: m.Value, Version: m.Version}}, s.answerStore(answer, request))
		case "delete":
			c.Commit(state.Command{Delete: &state.Delete{Framework: s.id, Key: m.Key, Version: m.Version}}, s.answerStore(answer, request))
		}
	}
}

// storable refuses to store more where all frameworks together have so much that a
// master would run short of memory. What is under way is not counted. It is the
// leader's to refuse, not the state's: masters of another version would store it.
func (s *Framework) storable(c *Core, m *wire.StateRequest) error {
	more := len(m.Value) - len(c.state().Entry(s.id, m.Key).Value)
	if now := c.state().Stored(); more > 0 && now+more > c.config.Stored {
		return offers.Errorf(offers.TooLarge, "state: all frameworks together store %d bytes; at most %d, and a framework that ends makes room", now, c.config.Stored)
	}
	return nil
}

func (s *Framework) answerStore(answer *wire.StateAnswer, request string) func(state.Result) {
	return func(r state.Result) {
		if r.Err != nil {
			refuse(s.peer, r.Err, request)
			return
		}
		answer.Version, _ = r.Value.(uint64)
		s.peer.Send(answer, request)
	}
}

func validStoreRequest(m *wire.StateRequest) error {
	switch m.Op {
	case "get", "put", "delete":
		if m.Key == "" || len(m.Key) > maxKey || !offers.Printable(m.Key) {
			return offers.Errorf(offers.BadMessage, "state: key is empty, not printable or longer than %d bytes", maxKey)
		}
	case "list":
	default:
		return offers.Errorf(offers.BadMessage, "state: op is %.20q; it is get, put, delete or list", m.Op)
	}
	if m.Op == "put" && len(m.Value) == 0 {
		return offers.Errorf(offers.BadMessage, "state: put without a value")
	}
	if n := m.ValueBytes(); n > wire.MaxStateValue {
		return offers.Errorf(offers.TooLarge, "state: the value of %s has %d bytes; at most %d", m.Key, n, wire.MaxStateValue)
	}
	return nil
}
