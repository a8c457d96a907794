package lead_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// bothered is a leader in the middle of its work, to whom somebody says
// anything at all: an offer is out, a task runs and another has ended.
func bothered(t *testing.T) (l *leader, f *lead.Framework, fp *peer, a *lead.Agent, ap *peer) {
	l = newLeader()
	f, fp, a, ap = l.settle()
	l.Handle(f, f.Prepare(&wire.StateRequest{Op: "put", Key: "k", Value: []byte(`1`)}, ""))
	l.accept(t, f, fp)
	l.commit()
	ref := last[*wire.Launch](t, ap).Tasks[0]
	l.HandleAgent(a, &wire.Statuses{Statuses: []wire.TaskStatus{{Framework: ref.Framework, Status: offers.Status{Task: "t1", State: offers.Failed, UpdateID: "u1"}}}}, "")
	l.commit()
	return l, f, fp, a, ap
}

// sound holds what a leader has come to: what it would commit can be written
// and read, so can its state, and so can all that it said.
func (l *leader) sound(t *testing.T, toFramework, toAgent *peer) {
	for {
		steps := l.Finish().Steps
		if len(steps) == 0 {
			break
		}
		commands := make([]state.Command, len(steps))
		for i := range steps {
			commands[i] = steps[i].Command
		}
		entry, err := state.Encode(commands)
		if err != nil {
			t.Fatalf("%+v can't be made durable: %v", commands, err)
		}
		if _, err := state.Decode(entry); err != nil {
			t.Fatalf("%+v can't be read again: %v", commands, err)
		}
		var results []state.Result
		l.state, results = l.state.Apply(commands)
		l.Committed(steps, results, l.state)
	}
	var saved bytes.Buffer
	if _, err := l.state.WriteTo(&saved); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Read(&saved); err != nil {
		t.Fatal(err)
	}
	for p, vocabulary := range map[*peer]wire.Vocabulary{toFramework: wire.ToFramework, toAgent: wire.ToAgent} {
		for _, m := range p.got {
			frame, err := wire.Encode(m, "")
			if err != nil {
				t.Fatalf("%+v can't be sent: %v", m, err)
			}
			if _, _, err := wire.Decode(vocabulary, frame); err != nil {
				t.Fatalf("%s can't be read: %v", frame, err)
			}
		}
		p.got = nil
	}
}

// FuzzFramework feeds anything that a framework may say, one frame a line.
func FuzzFramework(f *testing.F) {
	for _, frames := range []string{
		`{"type":"register","framework":{"name":"g","role":"r"}}`,
		`{"type":"demand","demands":[{"id":"d","count":2,"resources":{"cpus":0.5}},{"id":7}]}` + "\n" + `{"type":"decline","offer_ids":["o2-1"],"refuse":"1h"}`,
		`{"type":"accept","offer_ids":["o2-1","o2-1"],"tasks":[{"id":"t1"},{"id":"t2","resources":{"cpus":0.5},"command":{"shell":"x"}},7]}` + "\n" + `{"type":"kill","task_id":"t2","grace":"1s"}`,
		`{"type":"acknowledge","task_id":"t1","update_id":"u1"}` + "\n" + `{"type":"reconcile","task_ids":["t1","",".."]}`,
		`{"type":"state","op":"put","key":"k","value":"x","version":1}` + "\n" + `{"type":"state","op":"list","key":""}`,
		`{"type":"suppress"}` + "\n" + `{"type":"revive"}` + "\n" + `{"type":"teardown"}` + "\n" + `{"type":"message","task_id":"t1"}`,
	} {
		f.Add(frames)
	}
	f.Fuzz(func(t *testing.T, frames string) {
		l, f, fp, _, ap := bothered(t)
		for frame := range strings.SplitSeq(frames, "\n") {
			l.now = l.now.Add(time.Second)
			l.At(l.now)
			m, env, err := wire.Decode(wire.FromFramework, []byte(frame))
			if err != nil {
				continue
			}
			if _, again := m.(*wire.Register); again { // on a connection of its own, too
				other := lead.NewFramework(fp, 0, func() {})
				l.Handle(other, other.Prepare(m, env.RequestID))
			}
			l.Handle(f, f.Prepare(m, env.RequestID))
			l.Tick()
			l.sound(t, fp, ap)
		}
	})
}

// FuzzAgent feeds anything that an agent may say.
func FuzzAgent(f *testing.F) {
	const framework = "f00001-c0de"
	for _, frames := range []string{
		`{"type":"register","agent":{"name":"a","total":{"cpus":0.1}},"tasks":[{"framework_id":"` + framework + `","task_id":"t1","state":"running"}]}`,
		`{"type":"register","agent":{"id":"a00001-c0de","name":"b","total":{"cpus":9,"devices":{"gpu":{"ids":["x"],"capacity":[24]}}}},"tasks":null}`,
		fmt.Sprintf(`{"type":"statuses","statuses":[{"framework_id":%q,"task_id":"t1","state":"finished","update_id":"u2","time":"2030-01-01T00:00:00Z"},{"task_id":"","state":"lost"}]}`, framework),
		`{"type":"usage","sequence":7,"classes":{"gpu":{"bits":0,"unit":-1,"packed":["0x","7"]}}}` + "\n" + `{"type":"heartbeat","sequence":1}`,
	} {
		f.Add(frames)
	}
	f.Fuzz(func(t *testing.T, frames string) {
		l, _, fp, a, ap := bothered(t)
		for frame := range strings.SplitSeq(frames, "\n") {
			l.now = l.now.Add(time.Second)
			l.At(l.now)
			m, env, err := wire.Decode(wire.FromAgent, []byte(frame))
			if err != nil {
				continue
			}
			if _, again := m.(*wire.RegisterAgent); again {
				a = lead.NewAgent(ap)
			}
			l.HandleAgent(a, m, env.RequestID)
			l.Tick()
			l.sound(t, fp, ap)
		}
	})
}
