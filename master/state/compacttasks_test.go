package state

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// rewritten returns tasks as they come back from one record of them.
func rewritten(t *testing.T, tasks []TaskRecord) (out []TaskRecord) {
	t.Helper()
	var w compactWriter
	for i := range tasks {
		w.task(&tasks[i])
	}
	if err := readTasks(w.out, func(r *TaskRecord) error { out = append(out, *r); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTasksKeepEveryField: whatever alone is said of a task comes back, or the task is
// not plain.
func TestTasksKeepEveryField(t *testing.T) {
	launches, paths := everyField(t, Command{Launch: &Launch{}})
	plains := 0
	for i := range launches {
		task := launches[i].Launch.Task
		if !plain(&task) {
			continue
		}
		plains++
		if got, want := rewritten(t, []TaskRecord{task, {}, task}), []TaskRecord{task, {}, task}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is lost or stays", paths[i])
		}
	}
	if plains < 20 {
		t.Errorf("of %d tasks %d are plain", len(launches), plains)
	}
	ends, paths := everyField(t, Command{EndTask: &EndTask{}})
	for i := range ends {
		task := TaskRecord{End: &ends[i].EndTask.Status, Ended: 7, Acknowledged: i%2 == 0}
		if other := (TaskRecord{End: new(offers.Status), Ended: 8}); !reflect.DeepEqual(rewritten(t, []TaskRecord{task, other, task}), []TaskRecord{task, other, task}) {
			t.Errorf("%s is lost or stays", paths[i])
		}
	}
}

// TestTasksAreAsCBOR: they come back as they do from the older form, in much less.
func TestTasksAreAsCBOR(t *testing.T) {
	short, long := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		var tasks, want []TaskRecord
		for range 1 + r.IntN(20) {
			c := drawCommand(r)
			for ; c.Launch == nil; c = drawCommand(r) {
			}
			task := c.Launch.Task
			if end := drawCommand(r); end.EndTask != nil {
				task.End, task.Ended, task.Acknowledged = &end.EndTask.Status, 1+r.Uint64N(1000), r.IntN(2) == 0
			}
			if !plain(&task) {
				continue
			}
			body, err := encoding.Marshal(&task)
			if err != nil {
				t.Fatal(err)
			}
			var back TaskRecord
			if err := decoding.Unmarshal(body, &back); err != nil {
				t.Fatal(err)
			}
			tasks, want, long = append(tasks, task), append(want, back), long+len(body)
		}
		var w compactWriter
		for i := range tasks {
			w.task(&tasks[i])
		}
		short += len(w.out)
		if got := rewritten(t, tasks); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n got %+v\nwant %+v", seed, got, want)
		}
	}
	if short > long/2 {
		t.Errorf("they take %d bytes, and %d before", short, long)
	}
}

// TestReadTasksRefuses what is cut short anywhere, and what no writer wrote.
func TestReadTasksRefuses(t *testing.T) {
	ended := TaskRecord{Spec: offers.Task{ID: "t"}, End: &offers.Status{Message: "m"}, Ended: 9}
	var w compactWriter
	w.task(&ended)
	none := func(*TaskRecord) error { return nil }
	for n := 1; n < len(w.out); n++ {
		if err := readTasks(w.out[:n], none); err == nil {
			t.Errorf("cut at %d of %d it is read", n, len(w.out))
		}
	}
	var l compactWriter
	l.launch(&ended)
	for what, payload := range map[string][]byte{
		"written as 3":  append(bytes.Clone(l.out), 3),
		"no number":     append(bytes.Clone(w.out[:len(w.out)-1]), 0),
		"cut short":     {0xff},
		"outside the y": late(TaskRecord{Created: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"the years 0":   late(TaskRecord{End: &offers.Status{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, Ended: 1}),
	} {
		if err := readTasks(payload, none); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

func late(r TaskRecord) []byte {
	var w compactWriter
	w.task(&r)
	return w.out
}

// TestManyTasksRoundTrip: more than one record holds of them, with others between.
func TestManyTasksRoundTrip(t *testing.T) {
	l := newLab(t)
	f, a := l.framework("f"), l.agent("a")
	for i := range 3*mostTasks + 5 {
		c := launch(f, offers.TaskID(strings.Repeat("t", 1+i%7)+string(rune('a'+i%26))+time.Duration(i).String()), a.ID)
		if i%100 == 0 {
			c.Launch.Task.Spec.Health = &offers.Health{}
		}
		if i == 300 {
			c.Launch.Task.Spec.Labels = map[string]string{"large": strings.Repeat("l", 2*mostBytes)}
		}
		l.do(c)
		if i%3 == 0 {
			l.do(end(f, c.Launch.Task.Spec.ID, offers.Failed))
		}
		if i%6 == 0 {
			l.do(acknowledge(f, c.Launch.Task.Spec.ID))
		}
	}
	got, err := Read(bytes.NewReader(snapshot(t, l.s)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(view(got), view(l.s)) {
		t.Error("it came back otherwise")
	}
}

// TestReadsSnapshot1: one of the format before, byte for byte as that was written, is
// the state that its commands lead to now.
func TestReadsSnapshot1(t *testing.T) {
	data, err := os.ReadFile("testdata/snapshot-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want, results := New().Apply(remembered())
	for i, r := range results {
		if r.Err != nil {
			t.Errorf("command %d: %v", i, r.Err)
		}
	}
	if !bytes.Equal(snapshot(t, got), snapshot(t, want)) {
		t.Error("they differ")
	}
	if bytes.Equal(data, snapshot(t, want)) {
		t.Error("it is written in the same format")
	}
}

// remembered is storied, and tasks of which little is said: one that lives, one that
// ended and one of which that was acknowledged. Of it testdata/snapshot-1 was written.
func remembered() []Command {
	out := storied()
	for _, id := range []offers.TaskID{"lives", "ended", "over"} {
		out = append(out, launch("f00001-c0de", id, "a00001-c0de"))
	}
	return append(out, end("f00001-c0de", "ended", offers.Finished), end("f00001-c0de", "over", offers.Failed), acknowledge("f00001-c0de", "over"))
}
