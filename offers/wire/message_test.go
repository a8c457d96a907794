package wire_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

var vocabularies = map[string]wire.Vocabulary{
	"from framework": wire.FromFramework, "to framework": wire.ToFramework, "from agent": wire.FromAgent, "to agent": wire.ToAgent,
}

func pointer[T any](v T) *T { return &v }

// full is one message of every type with every field set, by vocabulary.
func full() map[string][]wire.Message {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	resources := offers.Resources{Amounts: offers.Amounts{1500, 1 << 20, 5, 7}, Ports: offers.MakePorts(offers.PortRange{First: 1, Last: 5}),
		Devices: map[string]offers.DeviceAsk{"gpu": {Count: 2, Memory: 9, Share: 250}}}
	holding := offers.Holding{Amounts: offers.Amounts{1}, Ports: resources.Ports, Devices: offers.OneDevice("gpu", offers.Grant{ID: "g", Index: 1, Memory: 2, Share: 3})}
	status := offers.Status{Task: "t", Agent: "a", State: offers.Failed, UpdateID: "u", Reason: "r", Message: "m", ExitCode: pointer(0), Signal: "SIGKILL",
		Devices: holding.Devices.Map(), Address: "h", Time: now}
	ref := offers.TaskRef{Framework: "f", Task: "t"}
	master := wire.MasterInfo{Name: "m1", Address: "h:1", Term: 7}
	task := offers.Task{ID: "t", Name: "n", Resources: resources, Command: &offers.Command{Argv: []string{"a", ""}, Env: map[string]string{"A": "b"}, User: "u", Dir: "d"},
		KillGrace: 1e9, MaxRuntime: 2e9, Labels: map[string]string{"a": "b"}}
	usage := wire.Usage{Sequence: 3, Handled: 2, Closed: "c", Classes: map[string]wire.PackedClass{"gpu": {Bits: 8, Unit: 1 << 20, Used: []string{"0x07140003"}, Unwell: map[int]string{2: "XID 79"}}}}
	second := offers.Duration(1e9)
	return map[string][]wire.Message{
		"from framework": {
			&wire.Register{Attempt: &wire.Attempt{Client: "c", Number: 2}, Framework: wire.FrameworkInfo{ID: "f", Name: "n", Role: "eng/ml", User: "u", FailoverTimeout: &second, Capabilities: []string{"c"}, Labels: map[string]string{"a": "b"}}},
			&wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d"}`), []byte(`7`)}},
			&wire.Accept{OfferIDs: []offers.OfferID{"o1"}, Tasks: []json.RawMessage{[]byte(`{"id":"t"}`), []byte(`"bad"`)}, Refuse: &second},
			&wire.Decline{OfferIDs: []offers.OfferID{"o1", "o2"}, Refuse: pointer(offers.Duration(0))},
			&wire.Suppress{}, &wire.Revive{},
			&wire.Kill{TaskID: "t", Grace: &second},
			&wire.Acknowledge{TaskID: "t", UpdateID: "u"},
			&wire.Reconcile{TaskIDs: []offers.TaskID{"t"}},
			&wire.TaskMessage{TaskID: "t", Data: []byte(`{"x":[1]}`)},
			&wire.StateRequest{Op: "put", Key: "k", Value: []byte(`"v"`), Version: pointer(uint64(0))},
			&wire.Teardown{},
		},
		"to framework": {
			&wire.Registered{FrameworkID: "f", Master: master, Heartbeat: second},
			&wire.OffersMessage{Offers: []wire.Offer{{ID: "o", Agent: wire.OfferAgent{ID: "a", Name: "n", Host: "h", Address: "h:1", Attributes: map[string]string{"rack": "r1"}},
				Resources: wire.Offered{Amounts: resources.Amounts, Ports: resources.Ports, Devices: map[string]wire.OfferedDevices{"gpu": {IDs: []string{"g"}, Free: []int64{5}}, "npu": {Count: 1, Memory: 3, Share: "0.5", Units: 2}}},
				DemandID:  "d", Ring: &offers.RingRef{Resource: "cpus", Index: 1}, Expires: now}}},
			&wire.Rescind{OfferIDs: []offers.OfferID{"o"}, Reason: "r"},
			&wire.Waiting{DemandID: "d1", Stopped: []string{"npu"}, Message: "no agent that is known has npu"},
			&wire.Accepted{OfferIDs: []offers.OfferID{"o"}, TaskIDs: []offers.TaskID{"t"}},
			&wire.Update{Status: status},
			&wire.Reconciled{},
			&wire.StateAnswer{Op: "get", Key: "k", Value: []byte(`{"a":1}`), Version: 9, Keys: []string{"k"}},
			&wire.Heartbeat{},
			&wire.ErrorMessage{Code: offers.OfferGone, Message: "m", DemandID: "d"},
		},
		"from agent": {
			&wire.RegisterAgent{Usage: &usage, Attempt: &wire.Attempt{Client: "c", Number: 2}, Agent: offers.Agent{ID: "a", Name: "n", Host: "h", Address: "h:1", Secure: true, Attributes: map[string]string{"rack": "r1"},
				Total:    offers.Inventory{Amounts: offers.Amounts{1000}, Ports: resources.Ports, Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{{ID: "g", Capacity: 5, Attributes: map[string]string{"m": "x"}}}}}},
				Policies: map[string]offers.Policy{"gpu": offers.Spread}, Version: "v", BootID: "b", Started: now},
				Sequence: 3, Tasks: []wire.AgentTask{{TaskRef: ref, LaunchID: "7-1", State: offers.Running, Holding: holding}}, Have: "h", Next: "n", Doubt: true},
			&wire.AgentTasks{Tasks: []wire.AgentTask{{TaskRef: ref, State: offers.Running}}, All: 3, Register: &wire.RegisterAgent{Agent: offers.Agent{Name: "n", Host: "h"}, Next: "n"}},
			&wire.Statuses{Statuses: []wire.TaskStatus{{Framework: "f", LaunchID: "7-1", Status: status}}},
			&usage,
			&wire.Heartbeat{},
		},
		"to agent": {
			&wire.AgentRegistered{AgentID: "a", Master: master, Forget: []offers.TaskRef{ref}, Older: true, More: true},
			&wire.Launch{Term: 7, Tasks: []wire.LaunchTask{{Framework: "f", LaunchID: "7-1", User: "u", Task: task, Holding: holding, Policy: offers.Pack}}},
			&wire.KillTask{Term: 7, TaskRef: ref, LaunchID: "7-1", Grace: &second, Reason: "r"},
			&wire.AcknowledgeStatus{Acknowledged: []wire.StatusRef{{TaskRef: ref, UpdateID: "u"}}},
			&wire.Heartbeat{},
			&wire.ErrorMessage{Code: offers.UnknownTask, Message: "m", DemandID: "d"},
		},
	}
}

// Every message of every vocabulary comes back as it was sent, full and empty.
func TestRoundTrip(t *testing.T) {
	for name, vocabulary := range vocabularies {
		messages := full()[name]
		if len(messages) != len(vocabulary) {
			t.Errorf("%s: %d examples for %d messages", name, len(messages), len(vocabulary))
		}
		for _, m := range messages {
			if build, ok := vocabulary[m.Type()]; !ok || reflect.TypeOf(build()) != reflect.TypeOf(m) {
				t.Errorf("%s: %q does not build %T", name, m.Type(), m)
				continue
			}
			unsetFields(t, m)
			for _, requestID := range []string{"", `r"1`} {
				frame, err := wire.Encode(m, requestID)
				if err != nil {
					t.Fatalf("%T: %v", m, err)
				}
				back, env, err := wire.Decode(vocabulary, frame)
				if err != nil || env != (wire.Envelope{Type: m.Type(), RequestID: requestID}) || !reflect.DeepEqual(back, m) {
					t.Errorf("%s comes back as %+v, %+v, %v", frame, back, env, err)
				}
			}
		}
	}
}

// unsetFields checks that the example leaves no top-level field out, so that
// a field added later without an example fails here.
func unsetFields(t testing.TB, m wire.Message) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the example of %T leaves %s out", m, v.Type().Field(i).Name)
		}
	}
}

func TestEncodeEmpty(t *testing.T) {
	for want, m := range map[string]wire.Message{
		`{"type":"revive"}`:                              &wire.Revive{},
		`{"type":"heartbeat"}`:                           &wire.Heartbeat{},
		`{"type":"kill","request_id":"r","task_id":"t"}`: &wire.Kill{TaskID: "t"},
	} {
		requestID := ""
		if m.Type() == "kill" {
			requestID = "r"
		}
		if got, err := wire.Encode(m, requestID); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	if _, err := wire.Encode(&wire.TaskMessage{Data: []byte(`{`)}, ""); err == nil || !strings.Contains(err.Error(), "message") {
		t.Errorf("what is no JSON is written: %v", err)
	}
}

func TestDecodeHostile(t *testing.T) {
	for _, row := range []struct {
		frame string
		code  offers.Code
		names []string
		id    string // request_id that must be there for the answer
	}{
		{``, offers.BadMessage, []string{"type"}, ""},
		{`null`, offers.BadMessage, []string{"type"}, ""},
		{`7`, offers.BadMessage, []string{"object"}, ""},
		{`"register"`, offers.BadMessage, []string{"object"}, ""},
		{`[{"type":"revive"}]`, offers.BadMessage, []string{"object"}, ""},
		{`{`, offers.BadMessage, []string{"JSON"}, ""},
		{`{"type":"revive"} x`, offers.BadMessage, []string{"JSON"}, ""},
		{`{"type":"revive"}{"type":"revive"}`, offers.BadMessage, []string{"JSON"}, ""},
		{"\xff\xfe", offers.BadMessage, []string{"UTF-8"}, ""},
		{"{\"type\":\"state\",\"op\":\"put\",\"key\":\"k\",\"value\":\"\xff\"}", offers.BadMessage, []string{"UTF-8"}, ""},
		{`{}`, offers.BadMessage, []string{"type"}, ""},
		{`{"request_id":"r"}`, offers.BadMessage, []string{"type"}, "r"},
		{`{"type":"","request_id":"r"}`, offers.BadMessage, []string{"type"}, "r"},
		{`{"type":null,"request_id":"r"}`, offers.BadMessage, []string{"type"}, "r"},
		{`{"type":7,"request_id":"r"}`, offers.BadMessage, []string{"type"}, "r"},
		{`{"type":"revive","request_id":7}`, offers.BadMessage, []string{"request_id"}, ""},
		{`{"type":"dance","request_id":"r"}`, offers.UnknownType, []string{"dance"}, "r"},
		{`{"type":"Revive"}`, offers.UnknownType, []string{"Revive"}, ""},
		{`{"type":"offers"}`, offers.UnknownType, []string{"offers"}, ""}, // another side's
		{`{"type":"` + strings.Repeat("x", 100_000) + `"}`, offers.UnknownType, []string{"xxx"}, ""},
		{`{"type":"register","framework":7,"request_id":"r"}`, offers.BadMessage, []string{"register", "framework"}, "r"},
		{`{"type":"register","framework":{"name":["n"]}}`, offers.BadMessage, []string{"framework.name"}, ""},
		{`{"type":"register","framework":{"failover_timeout":"soon"}}`, offers.BadMessage, []string{"framework", "soon"}, ""},
		{`{"type":"accept","offer_ids":"o1"}`, offers.BadMessage, []string{"accept", "offer_ids"}, ""},
		{`{"type":"accept","offer_ids":[1]}`, offers.BadMessage, []string{"offer_ids"}, ""},
		{`{"type":"accept","tasks":{}}`, offers.BadMessage, []string{"tasks"}, ""},
		{`{"type":"decline","refuse":"-5s"}`, offers.BadMessage, []string{"refuse"}, ""},
		{`{"type":"demand","demands":{"id":"d"},"request_id":"r"}`, offers.BadDemand, []string{"demands"}, "r"},
		{`{"type":"state","version":-1}`, offers.BadMessage, []string{"version"}, ""},
		{`{"type":"state","version":1.5}`, offers.BadMessage, []string{"version"}, ""},
		{`{"type":"state","value":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, offers.BadMessage, []string{"depth"}, ""},
	} {
		m, env, err := wire.Decode(wire.FromFramework, []byte(row.frame))
		var e *offers.Error
		if m != nil || !errors.As(err, &e) || e.Code != row.code {
			t.Errorf("%.80s: %v, %v; want the code %s", row.frame, m, err, row.code)
			continue
		}
		for _, name := range row.names {
			if !strings.Contains(e.Message, name) {
				t.Errorf("%.80s: the message does not name %q: %v", row.frame, name, e.Message)
			}
		}
		if len(e.Message) > 500 || strings.Contains(e.Message, "Go ") {
			t.Errorf("%.80s: the message is long or speaks of Go: %.600s", row.frame, e.Message)
		}
		if env.RequestID != row.id {
			t.Errorf("%.80s: the request id is %q, want %q", row.frame, env.RequestID, row.id)
		}
	}
}

// A refusal names a field as it is written, whatever Go types it is read into.
func TestDecodeNamesFieldsAsWritten(t *testing.T) {
	for _, row := range []struct {
		of          wire.Vocabulary
		frame, want string
	}{
		{wire.FromExec, `{"type":"start","terminal":{"rows":-1}}`, "start: terminal.rows: number -1 can't stand here"},
		{wire.FromAgent, `{"type":"statuses","statuses":[{"exit_code":"x"}]}`, "statuses: statuses.exit_code: string can't stand here"},
		{wire.FromFramework, `[]`, `the message is not a JSON object with a "type": a JSON object is needed, not an array`},
		{wire.FromFramework, `7`, `the message is not a JSON object with a "type": a JSON object is needed, not a number`},
	} {
		if _, _, err := wire.Decode(row.of, []byte(row.frame)); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v; want %s", row.frame, err, row.want)
		}
	}
}

// What a later version adds is ignored, and one bad demand or task does not
// spoil its neighbours.
func TestDecodeTolerant(t *testing.T) {
	for frame, want := range map[string]wire.Message{
		`{"type":"kill","task_id":"t","why":{"a":[1,2]},"request_id":"r"}`:              &wire.Kill{TaskID: "t"},
		`{"type":"demand","demands":[{"id":"d"},7,null]}`:                               &wire.DemandMessage{Demands: []json.RawMessage{[]byte(`{"id":"d"}`), []byte(`7`), []byte(`null`)}},
		` { "type" : "suppress" } `:                                                     &wire.Suppress{},
		`{"type":"decline","offer_ids":["o"],"refuse":0}`:                               &wire.Decline{OfferIDs: []offers.OfferID{"o"}, Refuse: pointer(offers.Duration(0))},
		`{"type":"decline","offer_ids":["o"],"refuse":null}`:                            &wire.Decline{OfferIDs: []offers.OfferID{"o"}},
		`{"framework":{"role":"r","name":"n","failover_timeout":60},"type":"register"}`: &wire.Register{Framework: wire.FrameworkInfo{Role: "r", Name: "n", FailoverTimeout: pointer(offers.Duration(60e9))}},
	} {
		if m, _, err := wire.Decode(wire.FromFramework, []byte(frame)); err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%s: %+v, %v", frame, m, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, messages := range full() {
		for _, m := range messages {
			frame, err := wire.Encode(m, "r")
			if err != nil {
				f.Fatal(err)
			}
			f.Add(frame)
		}
	}
	f.Add([]byte(`{"type":7}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		for name, vocabulary := range vocabularies {
			m, env, err := wire.Decode(vocabulary, frame)
			if err != nil {
				if e := (*offers.Error)(nil); !errors.As(err, &e) || e.Message == "" || m != nil {
					t.Fatalf("%s: %v beside %v", name, err, m)
				}
				continue
			}
			first, err := wire.Encode(m, env.RequestID)
			if err != nil {
				t.Fatalf("%s: %T was read but can't be written: %v", name, m, err)
			}
			back, again, err := wire.Decode(vocabulary, first)
			if err != nil || again != env {
				t.Fatalf("%s: %s was written but is read as %+v, %v", name, first, again, err)
			}
			if second, err := wire.Encode(back, env.RequestID); err != nil || string(second) != string(first) {
				t.Fatalf("%s: %s is written again as %s (%v)", name, first, second, err)
			}
		}
	})
}

// A string of exactly the limit is one, whatever its quotes come to.
func TestStoredValueBytes(t *testing.T) {
	for value, want := range map[string]int{`""`: 0, `"abc"`: 3, `{"a":1}`: 7, `7`: 1, `null`: 4, ``: 0} {
		if got := (&wire.StateRequest{Value: []byte(value)}).ValueBytes(); got != want {
			t.Errorf("%s counts %d bytes, want %d", value, got, want)
		}
	}
}

// Whoever asks for large values must not keep the master busy with them.
func BenchmarkEncodeLargeAnswer(b *testing.B) {
	answer := &wire.StateAnswer{Op: "get", Key: "k", Value: []byte(`"` + strings.Repeat("x", wire.MaxStateValue) + `"`), Version: 1}
	b.SetBytes(wire.MaxStateValue)
	for b.Loop() {
		if _, err := wire.Encode(answer, "r"); err != nil {
			b.Fatal(err)
		}
	}
}
