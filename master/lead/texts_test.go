package lead_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// What an agent says of a task is kept with it until long after its end, and before
// that in queues and events: all of it is cut to what these may hold, and the status
// counts like any other.
func TestLongTextsOfStatusesAreCut(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	long := strings.Repeat("x", 3<<20)
	say := func(s offers.State, id offers.UpdateID) offers.Status {
		t.Helper()
		h.say(&wire.Statuses{Statuses: []wire.TaskStatus{{Framework: a.id, Status: offers.Status{
			Task: "t1", State: s, UpdateID: id, Reason: long, Message: long, Signal: long, Address: long,
		}}}})
		got := a.update(s, id)
		if n := len(got.Message) + len(got.Reason) + len(got.Signal) + len(got.Address); n > offers.MaxStatusMessage+3*offers.MaxStatusWord || !strings.HasSuffix(got.Message, "x…") {
			t.Errorf("the framework of a task that is %s hears %d bytes", s, n)
		}
		a.acknowledge("t1", id)
		return got
	}
	say(offers.Running, "u1")
	for _, e := range l.told {
		if e.Type == events.TaskUpdated && len(e.Message) > 600 {
			t.Errorf("an event of an update holds %d bytes of its message", len(e.Message))
		}
	}
	end := say(offers.Failed, "u2")
	if kept := l.state.Task(a.ref("t1")).End; kept == nil || kept.Message != end.Message || kept.Reason != end.Reason {
		t.Errorf("kept is %+.200v", kept)
	}
}

// An update's id comes back to the agent as it is, so it can't be cut.
func TestLongUpdateIDsAreRefused(t *testing.T) {
	l := newScene(t)
	h, a := l.host("a1", ""), l.author("")
	a.launch("t1")
	h.got = nil
	h.report(a.ref("t1"), offers.Running, offers.UpdateID(strings.Repeat("u", offers.MaxUpdateID+1)))
	if e := only[*wire.ErrorMessage](h.listener); e.Code != offers.BadMessage || !strings.Contains(e.Message, "longer one than 256 bytes") {
		t.Errorf("the agent hears %+v", e)
	}
	a.nothing("its update can't be")
	h.report(a.ref("t1"), offers.Running, offers.UpdateID(strings.Repeat("u", offers.MaxUpdateID)))
	a.update(offers.Running, offers.UpdateID(strings.Repeat("u", offers.MaxUpdateID)))
}

// What frameworks and agents say about themselves is kept for long, too.
func TestLongRegistrationsAreRefused(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for what, in := range map[string]wire.FrameworkInfo{
		"framework.capabilities: ":              {Capabilities: []string{long}},
		"framework.labels: the name of":         {Labels: map[string]string{long: ""}},
		"its value than 1024":                   {Labels: map[string]string{"a": long}},
		"more than 256 labels and capabilities": {Capabilities: make([]string, 257)},
	} {
		l := newScene(t)
		a := l.connect()
		in.Name, in.Role = "f", "default"
		a.say(&wire.Register{Framework: in})
		if e := only[*wire.ErrorMessage](a.listener); e.Code != offers.BadMessage || !strings.Contains(e.Message, what) || len(e.Message) > 300 {
			t.Errorf("%s: the framework hears %+.400v", what, e)
		}
		in = wire.FrameworkInfo{Name: "f", Role: "default", User: "u", Capabilities: []string{"c"}, Labels: map[string]string{"a": long[:1024]}}
		a.got = nil
		a.say(&wire.Register{Framework: in})
		only[*wire.Registered](a.listener)
	}
	policies := map[string]offers.Policy{}
	for i := range 300 {
		policies[fmt.Sprint("class", i)] = offers.Pack
	}
	for what, in := range map[string]*wire.RegisterAgent{
		"have or next is longer than 256 bytes": {Next: long},
		"have or next is longer":                {Have: long},
		"agent boot_id is longer than 256":      {Agent: offers.Agent{BootID: long}},
		"is longer than 64 bytes":               {Agent: offers.Agent{Policies: map[string]offers.Policy{long: offers.Pack}}},
		"policies for 300 classes; at most 256": {Agent: offers.Agent{Policies: policies}},
		"300 device classes; at most 256":       {Agent: offers.Agent{Total: offers.Inventory{Classes: make([]offers.DeviceClass, 300)}}},
	} {
		l := newScene(t)
		h := &host{listener: &listener{TB: t}, l: l}
		h.Agent = lead.NewAgent(h.listener)
		in.Agent.Name = "a1"
		h.say(in)
		if e := only[*wire.ErrorMessage](h.listener); e.Code != offers.BadMessage || !strings.Contains(e.Message, what) || len(e.Message) > 300 {
			t.Errorf("%s: the agent hears %+.400v", what, e)
		}
	}
}

// A task is kept until its end is forgotten, so what it says is bounded, and one
// that says more is rejected alone.
func TestLargeTasksAreRejected(t *testing.T) {
	l := newScene(t)
	l.host("a1", "")
	a := l.author("")
	o := a.wish()
	a.got = nil
	task := func(id string, size int) json.RawMessage {
		head, tail := `{"id":"`+id+`","resources":{"cpus":0.1},"command":{"shell":"`, `"}}`
		return json.RawMessage(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
	}
	a.say(&wire.Accept{OfferIDs: []offers.OfferID{o.ID}, Tasks: []json.RawMessage{task("large", wire.MaxTask), task("larger", wire.MaxTask+1)}})
	if got := heard[*wire.Update](a.listener); len(got) != 1 || got[0].Status.Task != "larger" || got[0].Status.State != offers.Rejected ||
		!strings.Contains(got[0].Status.Message, "262145 bytes as it is written; at most 262144") {
		t.Errorf("the framework hears %+.600v", got)
	}
	if l.state.Task(a.ref("large")) == nil || l.state.Task(a.ref("larger")) != nil {
		t.Error("the large task was not launched, or the larger one was")
	}
}

// However many frameworks there are, what they store together is bounded.
func TestAllStoresAreBoundedTogether(t *testing.T) {
	l := newScene(t)
	l.config.Stored = 3000
	l.succeed()
	first, second := l.author(""), l.author("")
	put := func(a *author, key string, size int) *wire.ErrorMessage {
		t.Helper()
		a.got = nil
		a.say(&wire.StateRequest{Op: "put", Key: key, Value: json.RawMessage(strings.Repeat("1", size))})
		if e := heard[*wire.ErrorMessage](a.listener); len(e) > 0 {
			return e[0]
		}
		return nil
	}
	if e := put(first, "k", 2000); e != nil {
		t.Fatal(e)
	}
	if e := put(second, "k", 1000); e == nil || e.Code != offers.TooLarge || !strings.Contains(e.Message, "all frameworks together store 2001 bytes; at most 3000") {
		t.Errorf("the second, for whom there is no room, hears %+v", e)
	}
	if e := put(second, "k", 999); e != nil {
		t.Error("where there is room:", e)
	}
	if e := put(first, "k", 1999); e != nil {
		t.Error("what takes less than before:", e)
	}
	first.say(&wire.Teardown{})
	if e := put(second, "other", 1000); e != nil || l.state.Stored() != 2005 {
		t.Errorf("when the first has ended: %v, with %d bytes stored", e, l.state.Stored())
	}
}
