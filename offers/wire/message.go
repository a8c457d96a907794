package wire

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/offers"
)

// The subprotocols, each but the third for one of the paths below. What masters of
// one build say when one pre-matches for the other is binary and not public.
const (
	FrameworkProtocol = "ringmaster.v1"
	AgentProtocol     = "ringmaster.agent.v1"
	ExecProtocol      = "ringmaster.exec.v1" // below a task's path
	PrematchProtocol  = "ringmaster.prematch.v1"
	FrameworkPath     = "/v1/framework"
	AgentPath         = "/v1/agent"
	PrematchPath      = "/v1/prematch"
)

// LeaderPath is where an agent hears by a POST of a [MasterInfo] which master leads.
const LeaderPath = "/v1/leader"

// Limits that both sides keep.
const (
	MaxMessage    = 4 << 20 // bytes of one message
	MaxStateValue = 1 << 20 // bytes of one stored value
	MaxTask       = 1 << 18 // bytes of one task as it is written
	MaxDemands    = 10_000  // of one framework
	MaxTasks      = 10_000  // of one accept
	MaxStatuses   = 10_000  // of one message
	MaxListed     = 1 << 16 // tasks that an agent lists in one message
)

// Message is one message of either protocol.
type Message interface{ Type() string }

// Envelope is what every message has beside its own fields.
type Envelope struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id,omitempty"`
}

// Encode returns m as one frame; requestID is echoed when it is not empty.
func Encode(m Message, requestID string) ([]byte, error) {
	if a, ok := m.(*StateAnswer); ok && len(a.Value) > 0 {
		return encodeAnswer(a, requestID)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type(), err)
	}
	head, err := json.Marshal(Envelope{Type: m.Type(), RequestID: requestID})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type(), err)
	}
	if len(body) > 2 {
		head[len(head)-1] = ','
		return append(head, body[1:]...), nil
	}
	return head, nil
}

// encodeAnswer puts a stored value, which was JSON when it came, as it is
// behind the rest: reading a large one through again takes milliseconds, in
// the one goroutine that everybody waits for.
func encodeAnswer(a *StateAnswer, requestID string) ([]byte, error) {
	bare := *a
	bare.Value = nil
	head, err := Encode(&bare, requestID)
	if err != nil {
		return nil, err
	}
	const key = `,"value":`
	out := make([]byte, 0, len(head)+len(key)+len(a.Value))
	out = append(out, head[:len(head)-1]...)
	out = append(out, key...)
	out = append(out, a.Value...)
	return append(out, '}'), nil
}

// Vocabulary maps the type of each message that one side understands to a
// function that returns a pointer to an empty one.
type Vocabulary map[string]func() Message

// Decode reads one frame. Its error is an *offers.Error: bad_message for what
// is no JSON object with a type or has a field of the wrong shape,
// unknown_type for a type that is not in v; the envelope is filled as far as
// it could be read.
func Decode(v Vocabulary, frame []byte) (Message, Envelope, error) {
	if !utf8.Valid(frame) { // the decoder would put other characters in its place
		return nil, Envelope{}, offers.Errorf(offers.BadMessage, "the message is not valid UTF-8")
	}
	if env, plain := peek(frame); plain && v[env.Type] != nil {
		m := v[env.Type]()
		if err := tooLong(m, frame); err != nil {
			return nil, env, err
		}
		if json.Unmarshal(frame, m) == nil {
			return m, env, nil
		}
	}
	return decodeTwice(v, frame)
}

// decodeTwice reads a frame for its envelope first. It is for what can't be
// read otherwise, so that it is explained.
func decodeTwice(v Vocabulary, frame []byte) (Message, Envelope, error) {
	var env Envelope
	if err := json.Unmarshal(frame, &env); err != nil {
		err = offers.Explain(frame, func() any { return new(Envelope) }, err)
		return nil, env, offers.Errorf(offers.BadMessage, "the message is not a JSON object with a \"type\": %s", brief(err))
	}
	if env.Type == "" {
		return nil, env, offers.Errorf(offers.BadMessage, "the message has no \"type\"")
	}
	build, ok := v[env.Type]
	if !ok {
		return nil, env, offers.Errorf(offers.UnknownType, "message type %.60q is unknown", env.Type)
	}
	m := build()
	if err := tooLong(m, frame); err != nil {
		return nil, env, err
	}
	if err := json.Unmarshal(frame, m); err != nil {
		err = offers.Explain(frame, func() any { return build() }, err)
		return nil, env, offers.Errorf(codeOf(m), "%s: %s", env.Type, brief(err))
	}
	return m, env, nil
}

// codeOf is the code of a message whose fields can't be read: what a demand
// or an accept holds has codes of its own.
func codeOf(m Message) offers.Code {
	switch m.(type) {
	case *DemandMessage:
		return offers.BadDemand
	default:
		return offers.BadMessage
	}
}

func brief(err error) string {
	text := err.Error()
	if len(text) > 300 {
		return text[:300] + "..."
	}
	return text
}
