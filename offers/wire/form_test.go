package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// bare is one message of every type with no field set.
func bare() map[string][]wire.Message {
	out := map[string][]wire.Message{}
	for name, v := range vocabularies {
		for _, build := range v {
			out[name] = append(out[name], build())
		}
	}
	return out
}

// inJSON reads a message as it is after it was written in JSON.
func inJSON(t testing.TB, v wire.Vocabulary, m wire.Message) wire.Message {
	t.Helper()
	frame, err := wire.Encode(m, "")
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	out, _, err := wire.Decode(v, frame)
	if err != nil {
		t.Fatalf("%T as %s: %v", m, frame, err)
	}
	return out
}

func inBinary(t testing.TB, v wire.Vocabulary, m wire.Message, request string) wire.Message {
	t.Helper()
	frame, err := wire.Binary.Encode(m, request)
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	one, rest := wire.Binary.Cut(frame)
	if len(rest) > 0 {
		t.Fatalf("%T: %x is more than one message", m, frame)
	}
	out, env, err := wire.Binary.Decode(v, one)
	if err != nil || env != (wire.Envelope{Type: m.Type(), RequestID: request}) {
		t.Fatalf("%T as %x: %v, %v", m, frame, env, err)
	}
	return out
}

// same compares messages. Moments are the same in any zone.
func same(t testing.TB, a, b wire.Message) bool {
	t.Helper()
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := wire.Encode(a, "")
	y, err2 := wire.Encode(b, "")
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// TestBinaryIsReadAsJSON: every message, with all fields and with none, is the
// same after either form.
func TestBinaryIsReadAsJSON(t *testing.T) {
	for _, all := range []map[string][]wire.Message{full(), bare()} {
		for name, messages := range all {
			for _, m := range messages {
				if want, got := inJSON(t, vocabularies[name], m), inBinary(t, vocabularies[name], m, "r:1"); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %T is %+v after JSON and %+v after the binary form", name, m, want, got)
				}
			}
		}
	}
}

// tasks and demands with every field that a message can bring.
func items() ([]offers.Task, []offers.Demand) {
	only, err := offers.ParseConstraint("rack==r1")
	if err != nil {
		panic(err)
	}
	resources := offers.Resources{Amounts: offers.Amounts{1500, 1 << 20}, Devices: map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 9, Share: 250}, "npu": {Count: 3}}}
	return []offers.Task{
			{ID: "t", Name: "nö", Resources: resources, Command: &offers.Command{Argv: []string{"a", ""}, Env: map[string]string{"A": "b", "C": "d"}, User: "u", Dir: "d"},
				KillGrace: 1e9, MaxRuntime: 2e9, Labels: map[string]string{"a": "b"}, Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			{ID: "c", Resources: offers.Resources{Ports: offers.MakePorts(offers.PortRange{First: 80, Last: 81})},
				Container: &offers.Container{Image: "alpine:3", Pull: "always", Entrypoint: []string{"e"}, Network: "bridge", Mounts: []offers.Mount{{Source: "/a", Target: "/b", ReadOnly: true}}},
				Artifacts: []offers.Artifact{{URI: "https://h/a", Extract: true, Dest: "d"}},
				Health:    &offers.Health{TCP: &offers.TCPPing{Port: 80}, Interval: 1e9}},
		}, []offers.Demand{
			{ID: "d", Resources: resources, Count: pointer(3), Constraints: []offers.Constraint{only}, Preferences: []offers.Preference{{Condition: only, Weight: -7}},
				Placement: "match", DevicePolicy: offers.Pack, Deadline: 5e9, Runtime: 1e9, Price: 1.5, Gang: 30e9},
			{ID: "whole", Resources: offers.Resources{AnyPorts: 2}},
			{ID: "none", Count: pointer(0)},
		}
}

func TestItemsAreReadAsJSON(t *testing.T) {
	tasks, demands := items()
	for i := range tasks {
		var got [2]offers.Task
		for form := range got {
			raw, err := wire.Form(form).Item(&tasks[i])
			if err == nil {
				got[form], err = wire.ReadTask(raw)
			}
			if err != nil {
				t.Fatalf("%v: %v", wire.Form(form), err)
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%+v is not %+v", got[1], got[0])
		}
	}
	for i := range demands {
		var got [2]offers.Demand
		for form := range got {
			raw, err := wire.Form(form).Item(&demands[i])
			if err == nil {
				got[form], err = wire.ReadDemand(raw)
			}
			if err != nil {
				t.Fatalf("%v: %v", wire.Form(form), err)
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%+v is not %+v", got[1], got[0])
		}
	}
}

// TestBadItemsAreRefused: what JSON refuses is refused, for itself alone, and
// with its id.
func TestBadItemsAreRefused(t *testing.T) {
	amounts := func(n int64) offers.Resources { return offers.Resources{Amounts: offers.Amounts{n}} }
	for want, task := range map[string]offers.Task{
		"out of range":      {ID: "t", Resources: amounts(-1)},
		"cpus":              {ID: "t", Resources: amounts(offers.MaxAmount + 1)},
		"devices can be":    {ID: "t", Resources: offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": {Count: -1}}}},
		"negative":          {ID: "t", KillGrace: -1},
		"one or the other":  {ID: "t", Resources: offers.Resources{AnyPorts: 1, Ports: offers.Ports{{First: 1, Last: 1}}}},
		"port or a range":   {ID: "t", Resources: offers.Resources{Ports: offers.Ports{{First: 0, Last: 1}}}},
		"than a hundred ye": {ID: "t", MaxRuntime: 1 << 62},
	} {
		raw, err := wire.Binary.Item(&task)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.ReadTask(raw); err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(got, offers.Task{ID: "t"}) {
			t.Errorf("%+v is read as %+v, %v; want %q", task, got, err, want)
		}
	}
	raw, err := wire.Binary.Item(&offers.Demand{ID: "d", Count: pointer(-1), Resources: amounts(1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.ReadDemand(raw); err == nil || !strings.Contains(err.Error(), "count is -1") {
		t.Errorf("a count of -1: %v", err)
	}
	for n := range raw {
		if _, err := wire.ReadDemand(raw[:n]); err == nil {
			t.Errorf("%d bytes of a demand are taken for one", n)
		}
	}
}

// TestBinaryTextIsValid: a text that is no UTF-8 is written as JSON writes it,
// and refused where another one writes it.
func TestBinaryTextIsValid(t *testing.T) {
	m := &wire.Rescind{Reason: "a\xff\xfeb"}
	if got := inBinary(t, wire.ToFramework, m, ""); !reflect.DeepEqual(got, inJSON(t, wire.ToFramework, m)) {
		t.Errorf("%+v", got)
	}
	frame, err := wire.Binary.Encode(&wire.Rescind{Reason: "abcd"}, "")
	if err != nil {
		t.Fatal(err)
	}
	frame[bytes.IndexByte(frame, 'b')] = 0xff
	if _, _, err := wire.Binary.Decode(wire.ToFramework, frame); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("%v", err)
	}
	for _, bad := range []wire.Message{&wire.StateRequest{Op: "put", Value: []byte(`{`)}, &wire.TaskMessage{Data: []byte(`x`)}} {
		frame, err := wire.Binary.Encode(bad, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := wire.Binary.Decode(wire.FromFramework, frame); err == nil || !strings.Contains(err.Error(), "not JSON") {
			t.Errorf("%T: %v", bad, err)
		}
	}
}

// TestBinaryFramesJoin: frames one behind the other are one, and each message is
// read for itself, also behind one that can't be.
func TestBinaryFramesJoin(t *testing.T) {
	var all []byte
	var want []string
	for _, m := range full()["to framework"] {
		frame, err := wire.Binary.Encode(m, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, frame...), 2, 250, 0) // of a type that there is not
		want = append(want, m.Type(), string(offers.UnknownType))
	}
	all = append(all, 9, 1) // and one that breaks off
	want = append(want, string(offers.BadMessage))
	var got []string
	for len(all) > 0 {
		var one []byte
		one, all = wire.Binary.Cut(all)
		m, _, err := wire.Binary.Decode(wire.ToFramework, one)
		var bad *offers.Error
		if errors.As(err, &bad) {
			got = append(got, string(bad.Code))
		} else {
			got = append(got, m.Type())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

// A message that was kept must not keep all that came with it, and what is said
// of lengths is not believed before the bytes are there.
func TestBinaryLengthsAreBounded(t *testing.T) {
	for _, m := range []wire.Message{&wire.Statuses{}, &wire.Reconcile{}, &wire.RegisterAgent{}} {
		frame, err := wire.Binary.Encode(m, "")
		if err != nil {
			t.Fatal(err)
		}
		huge := append([]byte{0, frame[1], 0}, 0xff, 0xff, 0xff, 0xff, 0x0f)
		huge[0] = byte(len(huge) - 1)
		v := wire.FromAgent
		if m.Type() == "reconcile" {
			v = wire.FromFramework
		}
		if _, _, err := wire.Binary.Decode(v, huge); err == nil {
			t.Errorf("%T: 4 billion elements in 8 bytes were read", m)
		}
	}
}

var updateLayout = flag.Bool("update", false, "write what the test compares with")

// TestLayout: messages of programs that agree on a subprotocol's name must be
// written alike. Whoever changes how raises the constant layout.
func TestLayout(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"from framework", "to framework", "from agent", "to agent"} {
		for _, m := range full()[name] {
			frame, err := wire.Binary.Encode(m, "r")
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(m.Type() + " " + hex.EncodeToString(frame) + "\n")
		}
	}
	tasks, demands := items()
	for _, one := range []any{&tasks[0], &tasks[1], &demands[0], &demands[1]} {
		raw, err := wire.Binary.Item(one)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(reflect.TypeOf(one).String() + " " + hex.EncodeToString(raw) + "\n")
	}
	const file = "testdata/layout.txt"
	got := "subprotocol " + wire.BinaryProtocol(wire.FrameworkProtocol) + "\n" + text.String()
	if *updateLayout {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		before, after, _ := strings.Cut(string(want), "\n")
		if after != text.String() && strings.HasPrefix(got, before+"\n") {
			t.Fatal("messages are written otherwise and the subprotocol's name is the same: raise layout, then run this with -update")
		}
		t.Fatal("the types of messages are others: run this with -update")
	}
}

// FuzzForms: what is read out of JSON is the same through the binary form.
func FuzzForms(f *testing.F) {
	for _, all := range []map[string][]wire.Message{full(), bare()} {
		for _, messages := range all {
			for _, m := range messages {
				frame, err := wire.Encode(m, "r")
				if err != nil {
					f.Fatal(err)
				}
				f.Add(frame)
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for name, v := range vocabularies {
			m, env, err := wire.Decode(v, frame)
			if err != nil {
				continue
			}
			if _, err := wire.Encode(m, ""); err != nil {
				continue
			}
			if want, got := inJSON(t, v, m), inBinary(t, v, m, env.RequestID); !same(t, want, got) {
				t.Fatalf("%s: %s is %+v after JSON and %+v after the binary form", name, frame, want, got)
			}
		}
	})
}

// FuzzBinary: whatever comes, what is read of it could have come as JSON.
func FuzzBinary(f *testing.F) {
	for _, all := range []map[string][]wire.Message{full(), bare()} {
		for _, messages := range all {
			for _, m := range messages {
				frame, err := wire.Binary.Encode(m, "r")
				if err != nil {
					f.Fatal(err)
				}
				f.Add(frame)
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for more := true; more; more = len(frame) > 0 {
			var one []byte
			one, frame = wire.Binary.Cut(frame)
			for _, v := range vocabularies {
				m, env, err := wire.Binary.Decode(v, one)
				if err != nil {
					if e := (*offers.Error)(nil); !errors.As(err, &e) || e.Message == "" || m != nil {
						t.Fatalf("%v beside %v", err, m)
					}
					continue
				}
				switch m := m.(type) {
				case *wire.Accept:
					m.Tasks = itemsInJSON(t, m.Tasks, func(raw json.RawMessage) (any, error) {
						t, err := wire.ReadTask(raw)
						return &t, err
					})
				case *wire.DemandMessage:
					m.Demands = itemsInJSON(t, m.Demands, func(raw json.RawMessage) (any, error) {
						d, err := wire.ReadDemand(raw)
						return &d, err
					})
				}
				if got, want := inBinary(t, v, m, env.RequestID), inJSON(t, v, m); !same(t, got, want) {
					t.Fatalf("%x is %+v after the binary form and %+v after JSON", one, got, want)
				}
			}
		}
	})
}

// itemsInJSON returns the elements that can be read.
func itemsInJSON(t *testing.T, raw []json.RawMessage, read func(json.RawMessage) (any, error)) (out []json.RawMessage) {
	t.Helper()
	for _, item := range raw {
		one, err := read(item)
		if err != nil {
			continue
		}
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatalf("%+v was read and can't be written: %v", one, err)
		}
		if _, err := read(text); err != nil {
			t.Fatalf("%x was read and %s is not: %v", item, text, err)
		}
		out = append(out, text)
	}
	return out
}

// Update is what frameworks read most of.
func BenchmarkForms(b *testing.B) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	update := &wire.Update{Status: offers.Status{Task: "t123456", Agent: "a00001-3f9c", State: offers.Running, UpdateID: "4f1c9a7be3-17", Address: "host-17", Started: now, Time: now}}
	launch := &wire.Launch{Term: 7, Tasks: []wire.LaunchTask{{Framework: "f00001-3f9c", LaunchID: "7-12345", Task: offers.Task{ID: "t123456", Name: "load",
		Resources: offers.Resources{Amounts: offers.Amounts{100, 128 << 20}}, Command: &offers.Command{Argv: []string{"true"}}}, Holding: offers.Holding{Amounts: offers.Amounts{100, 128 << 20}}}}}
	offer := &wire.OffersMessage{Offers: []wire.Offer{{ID: "o1-12345", Agent: wire.OfferAgent{ID: "a00001-3f9c", Name: "a1", Host: "host-17", Address: "host-17:5051", Attributes: map[string]string{}},
		Resources: wire.Offered{Amounts: offers.Amounts{100, 128 << 20}}, DemandID: "j17", Ring: &offers.RingRef{Resource: "cpus", Index: 3}, Expires: now}}}
	for _, row := range []struct {
		m wire.Message
		v wire.Vocabulary
	}{{update, wire.ToFramework}, {launch, wire.ToAgent}, {offer, wire.ToFramework}, {&wire.Acknowledge{TaskID: "t123456", UpdateID: "4f1c9a7be3-17"}, wire.FromFramework}} {
		for _, form := range []wire.Form{wire.JSON, wire.Binary} {
			b.Run(row.m.Type()+"/"+form.String()+"/encode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := form.Encode(row.m, ""); err != nil {
						b.Fatal(err)
					}
				}
			})
			frame, err := form.Encode(row.m, "")
			if err != nil {
				b.Fatal(err)
			}
			b.Run(row.m.Type()+"/"+form.String()+"/decode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := form.Decode(row.v, frame); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
