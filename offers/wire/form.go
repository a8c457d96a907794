package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Form is how messages are written on a connection. Both ends agree on it when
// they connect, see [Options.Compact].
type Form uint8

// The forms of messages.
//
// JSON is one object in each text frame, the public protocol. Binary is for two
// programs of ours: a frame is one or more messages, each
//
//	length of what follows | number of its type | request id | fields
//
// and the fields are those of the Go type, in its order, with neither names nor
// numbers. What they are is told by the name of the subprotocol, see
// [BinaryProtocol]: programs that don't have the same types speak JSON.
const (
	JSON Form = iota
	Binary
)

func (f Form) String() string {
	if f == Binary {
		return "binary"
	}
	return "json"
}

// Encode returns m as one frame; requestID is echoed when it is not empty.
// Binary frames may be sent one behind the other as one.
func (f Form) Encode(m Message, requestID string) ([]byte, error) {
	if f == JSON {
		return Encode(m, requestID)
	}
	number, known := numbers()[m.Type()]
	if !known {
		return nil, fmt.Errorf("encode %s: it has no binary form", m.Type())
	}
	v := reflect.ValueOf(m).Elem()
	out := make([]byte, lengthRoom, 128)
	out = append(out, number)
	out = putString(out, requestID)
	out, err := planOf(v.Type()).put(out, v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Type(), err)
	}
	return setLength(out), nil
}

// lengthRoom is what a length can take: messages are far below 2^28 bytes.
const lengthRoom = 4

// setLength writes the length of what is behind lengthRoom right before it.
func setLength(out []byte) []byte {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(out)-lengthRoom))
	copy(out[lengthRoom-n:], length[:n])
	return out[lengthRoom-n:]
}

// Cut returns the first message of a frame and what is behind it, which is
// nothing in JSON. Where a frame breaks off, all of it is one message, which
// can't be decoded.
func (f Form) Cut(frame []byte) (message, rest []byte) {
	if f == JSON {
		return frame, nil
	}
	length, n := binary.Uvarint(frame)
	if n <= 0 || length > uint64(len(frame)-n) {
		return frame, nil
	}
	end := n + int(length)
	return frame[:end], frame[end:]
}

// Decode reads one message, as [Decode] does.
func (f Form) Decode(v Vocabulary, message []byte) (Message, Envelope, error) {
	if f == JSON {
		return Decode(v, message)
	}
	var env Envelope
	length, n := binary.Uvarint(message)
	if n <= 0 || length != uint64(len(message)-n) || length == 0 {
		return nil, env, offers.Errorf(offers.BadMessage, "the message is cut short")
	}
	in := reader{rest: string(message[n:])}
	number := in.byte()
	env.RequestID = in.text()
	if names := typeNames(); int(number) < len(names) {
		env.Type = names[number]
	}
	build, known := v[env.Type]
	if !known {
		return nil, env, offers.Errorf(offers.UnknownType, "message type %d is unknown here", number)
	}
	m := build()
	to := reflect.ValueOf(m).Elem()
	planOf(to.Type()).get(&in, to)
	if in.err == nil && in.rest != "" {
		in.fail("%d bytes are left over", len(in.rest))
	}
	if in.err != nil {
		return nil, env, offers.Errorf(codeOf(m), "%s: %s", env.Type, brief(in.err))
	}
	return m, env, nil
}

// An element of [Accept] and [DemandMessage] is JSON, or this and its fields.
const binaryMark = 0

// Item returns a task or a demand as an element of [Accept] or [DemandMessage].
func (f Form) Item(of any) (json.RawMessage, error) {
	if f == JSON {
		return json.Marshal(of)
	}
	v := reflect.ValueOf(of).Elem()
	return planOf(v.Type()).put([]byte{binaryMark}, v)
}

// ReadTask reads an element of [Accept]; [offers.Task.Validate] is still to be
// asked. Beside an error the task may have its id, so that the refusal can be
// addressed.
func ReadTask(item json.RawMessage) (t offers.Task, err error) {
	if !readItem(item, &t, &err) {
		err = json.Unmarshal(item, &t)
	}
	if err != nil {
		t = offers.Task{ID: t.ID}
	}
	return t, err
}

// ReadDemand reads an element of [DemandMessage] and validates it.
func ReadDemand(item json.RawMessage) (d offers.Demand, err error) {
	if !readItem(item, &d, &err) {
		err = json.Unmarshal(item, &d)
	} else if err == nil {
		err = d.Validate()
	}
	return d, err
}

// readItem reports whether item is in binary form.
func readItem(item json.RawMessage, to any, err *error) bool {
	if len(item) == 0 || item[0] != binaryMark {
		return false
	}
	in := reader{rest: string(item[1:])}
	v := reflect.ValueOf(to).Elem()
	planOf(v.Type()).get(&in, v)
	if in.err == nil && in.rest != "" {
		in.fail("%d bytes are left over", len(in.rest))
	}
	*err = in.err
	return true
}

// layout is to be raised when the same types come to be written otherwise.
const layout = 1

// BinaryProtocol returns the name of the binary form of [FrameworkProtocol] or
// [AgentProtocol]: it ends with a number that is drawn from all that is
// understood in either, so that only programs with the same types agree on it.
// The other protocols have none, "".
func BinaryProtocol(protocol string) string {
	if protocol != FrameworkProtocol && protocol != AgentProtocol {
		return ""
	}
	return protocol + ".bin." + fingerprint()
}

var fingerprint = sync.OnceValue(func() string {
	var text strings.Builder
	seen := map[reflect.Type]bool{}
	fmt.Fprintf(&text, "layout %d\n", layout)
	for _, v := range vocabularies() {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t := reflect.TypeOf(v[name]()).Elem()
			fmt.Fprintf(&text, "%s %s\n", name, t)
			describe(&text, t, seen)
		}
	}
	describe(&text, reflect.TypeFor[offers.Task](), seen)
	describe(&text, reflect.TypeFor[offers.Demand](), seen)
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:4])
})

func vocabularies() []Vocabulary { return []Vocabulary{FromFramework, ToFramework, FromAgent, ToAgent} }

// typeNames are the types of all messages in the order of their numbers.
var typeNames = sync.OnceValue(func() []string {
	all := map[string]bool{}
	for _, v := range vocabularies() {
		for name := range v {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
})

var numbers = sync.OnceValue(func() map[string]byte {
	out := map[string]byte{}
	for i, name := range typeNames() {
		out[name] = byte(i)
	}
	return out
})

// describe writes the fields of a type, and of those that they are of.
func describe(text *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	t = written(t)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if t.Kind() == reflect.Map {
			describe(text, t.Key(), seen)
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	fmt.Fprintf(text, "%s:", t)
	for i := range t.NumField() {
		f := t.Field(i)
		fmt.Fprintf(text, " %s %s %q", f.Name, written(f.Type), f.Tag.Get("json"))
	}
	text.WriteByte('\n')
	for i := range t.NumField() {
		describe(text, t.Field(i).Type, seen)
	}
}

// written is the type that values of another are written as.
func written(t reflect.Type) reflect.Type {
	if t == reflect.TypeFor[offers.Devices]() {
		return reflect.TypeFor[map[string][]offers.Grant]()
	}
	return t
}

// finite refuses what JSON has no form for.
func finite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is no number", f)
	}
	return nil
}
