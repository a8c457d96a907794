package events_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// told is a buffer beside a list of all that was ever put into it.
type told struct {
	*events.Buffer
	size    int
	all     []events.ID // of this epoch
	shown   int         // of all
	limit   uint64
	command uint64
	run     int
}

const epoch = 7

func newTold(size int) *told {
	b := &told{Buffer: events.NewBuffer(size), size: size, limit: events.All}
	b.Reset(epoch, 0)
	return b
}

// durable adds the events of one command.
func (b *told) durable(n int) {
	b.command++
	var list []events.Event
	for i := range n {
		id := events.ID{Epoch: epoch, Command: b.command, N: uint32(i)}
		list, b.all = append(list, events.Event{ID: id, Type: events.TaskEnded}), append(b.all, id)
	}
	b.Append(list)
	b.reveal()
}

func (b *told) soft() {
	b.Tell([]events.Event{{Type: events.TaskUpdated}})
	b.all = append(b.all, events.ID{Soft: 1}) // its name is the buffer's to give
	b.reveal()
}

func (b *told) reveal() {
	b.shown = max(b.shown, len(b.all)-b.size)
	for b.shown < len(b.all) && (b.all[b.shown].Soft > 0 || b.all[b.shown].Command <= b.limit) {
		b.shown++
	}
}

// from reads all that is shown from a place on.
func (b *told) from(place uint64) (ids []events.ID, lost uint64) {
	list := make([]*events.Entry, 3)
	for {
		n, left := b.Read(place, list)
		lost += left
		if n == 0 {
			return ids, lost
		}
		for _, e := range list[:n] {
			ids = append(ids, e.ID)
		}
		place += left + uint64(n)
	}
}

// A reader who goes on after an event that it has had gets all that came after
// it and is shown, in order and once, or is told that it is not kept any more,
// as a list of everything says.
func TestBufferIsAListCutOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newTold(rapid.IntRange(1, 12).Draw(t, "size"))
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				b.durable(rapid.IntRange(0, 3).Draw(t, "events"))
			case 2, 3:
				b.soft()
			case 4:
				b.limit = b.command - min(b.command, uint64(rapid.IntRange(0, 2).Draw(t, "not acted on")))
				if rapid.Bool().Draw(t, "another leadership") {
					b.run++
					b.Lead(fmt.Sprint(b.run), epoch, b.limit)
				} else {
					b.Show(b.limit)
				}
				b.reveal()
			}
			b.check(t)
		}
	})
}

func (b *told) check(t *rapid.T) {
	oldest := max(0, len(b.all)-b.size)
	shown := max(b.shown, oldest)
	place, _ := b.Oldest()
	kept, lost := b.from(place)
	if len(kept) != shown-oldest || lost != 0 {
		t.Fatalf("%d of %d events are kept, %d lost; want %d", len(kept), len(b.all), lost, shown-oldest)
	}
	for i, id := range kept {
		if want := b.all[oldest+i]; (want.Soft == 0) != (id.Soft == 0) || want.Soft == 0 && want != id {
			t.Fatalf("event %d is %s, want %s", oldest+i, id, want)
		}
		after, ok := b.Seek(id)
		if !ok {
			t.Fatalf("what comes after %s is kept, and it says not", id)
		}
		if rest, _ := b.from(after); !slices.Equal(rest, kept[i+1:]) {
			t.Fatalf("after %s come %v, want %v", id, rest, kept[i+1:])
		}
		b.elsewhere(t, id, kept[i+1:])
	}
	for _, id := range b.all[:oldest] {
		if id.Soft > 0 {
			continue
		}
		i := slices.Index(b.all, id)
		complete := i+1 >= oldest // nothing came between it and the oldest
		if _, ok := b.Seek(id); ok != complete {
			t.Fatalf("what comes after %s, %d events before the oldest, is kept: %t", id, oldest-i, ok)
		}
	}
	if _, at := b.End(); len(kept) > 0 && at != kept[len(kept)-1] {
		t.Fatalf("the end is at %s, want %s", at, kept[len(kept)-1])
	}
}

// elsewhere goes on after a soft event as a master does that has not seen it:
// nothing durable is left out or comes twice.
func (b *told) elsewhere(t *rapid.T, id events.ID, rest []events.ID) {
	if id.Soft == 0 {
		return
	}
	id.Run = "another"
	after, ok := b.Seek(id)
	if !ok { // soft events before it are not kept, which it can't know
		return
	}
	got, _ := b.from(after)
	soft := func(id events.ID) bool { return id.Soft > 0 }
	if want := slices.DeleteFunc(slices.Clone(rest), soft); !slices.Equal(slices.DeleteFunc(got, soft), want) {
		t.Fatalf("another master goes on after %s with %v, want %v", id, got, want)
	}
}

// What is of another history, or before what is known, or from the future, is
// no place to go on from.
func TestNoPlaceToGoOnFrom(t *testing.T) {
	b := newTold(10)
	b.Reset(epoch, 100)
	b.command = 100
	b.durable(2)
	for id, want := range map[events.ID]bool{
		{Epoch: epoch, Command: 101, N: 1}:               true,
		{Epoch: epoch, Command: 101}:                     true,
		{Epoch: epoch, Command: 100}:                     false, // there may have been a second one
		{Epoch: epoch, Command: 99}:                      false,
		{Epoch: epoch + 1, Command: 101}:                 false,
		{Epoch: epoch, Command: 100, N: ^uint32(0)}:      true, // where its streams began
		{Epoch: epoch, Command: 101, Run: "7", Soft: 12}: true,
	} {
		if _, ok := b.Seek(id); ok != want {
			t.Errorf("it goes on after %s: %t", id, ok)
		}
	}
	if !b.Ahead(events.ID{Epoch: epoch, Command: 102}) || b.Ahead(events.ID{Epoch: epoch, Command: 101, N: 1}) || b.Ahead(events.ID{Epoch: epoch + 1, Command: 102}) {
		t.Error("it mistakes what has not come here yet")
	}
	b.Append([]events.Event{{ID: events.ID{Epoch: epoch + 1, Command: 50}, Type: events.Restored}})
	if _, ok := b.Seek(events.ID{Epoch: epoch, Command: 101}); ok {
		t.Error("it goes on across a restore")
	}
}

// A master that led before the one that was read last told its own already:
// where the leader changes back and forth nobody reads of each election again.
func TestEarlierLeadershipsAreNotToldAgain(t *testing.T) {
	b := newTold(10)
	elected := func(run string) events.ID {
		b.Lead(run, epoch, events.All)
		b.soft()
		_, id := b.End()
		return id
	}
	elected("9-1")
	last := elected("11-1")
	for run, want := range map[string]string{"9-1": "[11-1]", "10-2": "[11-1]", "11-1": "[]", "11-2": "[]", "100-1": "[]"} {
		id := last
		id.Run = run
		place, ok := b.Seek(id)
		got := []string{}
		ids, _ := b.from(place)
		for _, id := range ids {
			got = append(got, id.Run)
		}
		if fmt.Sprint(got) != want || !ok {
			t.Errorf("after the leadership %s it goes on with %v, %t, want %s", run, got, ok, want)
		}
	}
	for range 9 { // so that 9-1 is not kept any more
		b.soft()
	}
	last.Run = "10-1"
	if _, ok := b.Seek(last); !ok {
		t.Error("an earlier leadership is missed")
	}
}

func TestSlowReaderLosesTheOldest(t *testing.T) {
	b := newTold(4)
	place, _ := b.End()
	for range 6 {
		b.durable(1)
	}
	ids, lost := b.from(place)
	if lost != 2 || len(ids) != 4 || ids[0].Command != 3 {
		t.Errorf("%d lost, then %v", lost, ids)
	}
}

func TestIDsAreReadBack(t *testing.T) {
	for _, id := range []events.ID{
		{Epoch: 0xbeef, Command: 12, N: 3}, {}, {Epoch: 1, Command: 1 << 60, N: ^uint32(0), Run: "7-2", Soft: 9},
	} {
		if got, err := events.ParseID(id.String()); err != nil || got != id {
			t.Errorf("%s is read as %+v, %v", id, got, err)
		}
	}
	for _, text := range []string{
		"", "1", "0000beef.1", "0000beef.1.2.3", "beef.1.2", "0000beef.01.2", "0000beef.-1.2", "0000BEEF.1.2", "0000beef.1.2.r.0",
		"0000beef.1.99999999999", "0000beef.1.2.3-1.4.5", "0000beef.1.2.\n.4", "0000beef.x.2\n",
	} {
		if id, err := events.ParseID(text); !errors.Is(err, &offers.Error{Code: offers.BadMessage}) {
			t.Errorf("%q is read as %+v, %v", text, id, err)
		}
	}
}

func TestFilters(t *testing.T) {
	task := &events.Event{Type: events.TaskEnded, Framework: "f1", Task: "t1", Agent: "a1", Role: "eng"}
	for _, c := range []struct {
		filter events.Filter
		wants  bool
	}{
		{events.Filter{}, true},
		{events.Filter{Framework: "f1", Task: "t1", Agent: "a1", Role: "eng", Types: []events.Type{events.TaskEnded}}, true},
		{events.Filter{Framework: "f2"}, false},
		{events.Filter{Framework: "f1", Task: "t"}, false},
		{events.Filter{Agent: "a"}, false},
		{events.Filter{Role: "en"}, false},
		{events.Filter{Types: []events.Type{events.TaskLaunched}}, false},
	} {
		if c.filter.Wants(task) != c.wants {
			t.Errorf("%+v wants it: %t", c.filter, !c.wants)
		}
		if !c.filter.Wants(&events.Event{Type: events.Restored}) {
			t.Errorf("%+v does not want to know of a restore", c.filter)
		}
	}
	if got, err := events.ParseTypes("agent,task_ended"); err != nil || fmt.Sprint(got) != "[agent_registered agent_updated agent_disconnected agent_closed agent_opened task_ended]" {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"tasks", "", "agent,", "begin", "gap"} {
		if got, err := events.ParseTypes(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
