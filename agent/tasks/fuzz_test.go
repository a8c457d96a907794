package tasks

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// FuzzOrders feeds anything that a master may say to an agent with a running
// task, one frame a line. What is taken can be written down, names a folder
// and fits; what is reported can be read.
func FuzzOrders(f *testing.F) {
	for _, frames := range []string{
		`{"type":"launch","term":5,"tasks":[{"framework_id":"f","task":{"id":"t","resources":{"cpus":1,"devices":{"gpu":{"memory":10}}},"command":{"shell":"x"}},"holding":{"amounts":{"cpus":1},"devices":{"gpu":[{"id":"gpu-0","index":0,"memory":10}]}}}]}`,
		`{"type":"launch","term":9,"tasks":[{"framework_id":"..","task":{"id":"t"}},{"framework_id":"f","task":{"id":"t"},"holding":{"devices":{"gpu":[{"index":1023}]}}}]}`,
		`{"type":"kill","term":5,"framework_id":"f","task_id":"runs","grace":"1s"}` + "\n" + `{"type":"kill","term":5,"framework_id":"f","task_id":"../x"}`,
		`{"type":"acknowledge","acknowledged":[{"framework_id":"f","task_id":"runs","update_id":""}]}`,
		`{"type":"registered","agent_id":"a2","master":{"term":7},"forget":[{"framework_id":"f","task_id":"runs"}]}`,
		`{"type":"error","code":"unknown_agent"}`,
	} {
		f.Add(frames)
	}
	f.Fuzz(func(t *testing.T, frames string) {
		m, now := fresh(t), at(0)
		launch(t, m, now, offers.Task{ID: "runs", Resources: offers.Resources{Amounts: offers.Amounts{1000}}})
		work := func() {
			for r := m.Ready(); !r.Empty(); r = m.Ready() {
				for _, l := range r.Launched {
					if named(l.Ref()) != nil {
						t.Fatalf("%+v was taken and can't name a folder", l.Ref())
					}
				}
				for _, l := range r.Start {
					m.Prepared(l.Ref(), record.Identity{PID: 7}, now)
				}
				for _, ref := range r.Release {
					m.Started(ref, now)
				}
				if frame, err := wire.Encode(&wire.Statuses{Statuses: r.Send}, ""); err != nil {
					t.Fatalf("%+v can't be sent: %v", r.Send, err)
				} else if _, _, err := wire.Decode(wire.FromAgent, frame); err != nil {
					t.Fatalf("%s can't be read: %v", frame, err)
				}
				if err := m.check(); err != nil {
					t.Fatal(err)
				}
			}
		}
		work()
		for frame := range strings.SplitSeq(frames, "\n") {
			now = now.Add(time.Second)
			got, _, err := wire.Decode(wire.ToAgent, []byte(frame))
			if err != nil {
				continue
			}
			switch o := got.(type) {
			case *wire.AgentRegistered:
				_ = m.Registered(o, now)
			case *wire.Launch:
				_ = m.Launch(o, now)
			case *wire.KillTask:
				_ = m.Kill(o, now)
			case *wire.AcknowledgeStatus:
				m.Acknowledge(o.Acknowledged, now)
			case *wire.ErrorMessage:
				m.Refused(now)
			}
			m.Tick(now)
			work()
		}
	})
}
