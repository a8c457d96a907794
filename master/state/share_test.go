package state

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestTaskKeepsEveryField: a record is the same after it was a task, alone and
// beside one that differs in a single field, at any depth; and what differs is
// not shared.
func TestTaskKeepsEveryField(t *testing.T) {
	full := func() *TaskRecord {
		r := new(TaskRecord)
		(&filler{TB: t}).fill(reflect.ValueOf(r).Elem(), "record")
		r.Holding.Devices = nil // with any it is never shared
		return r
	}
	like := NewTask(full(), nil)
	if same := NewTask(full(), like); same.Terms != like.Terms || same.Holding != like.Holding || same.Command != like.Command {
		t.Error("equal tasks share nothing")
	}
	fields := 0
	var walk func(v reflect.Value, r *TaskRecord, path string)
	walk = func(v reflect.Value, r *TaskRecord, path string) {
		try := func(v, to reflect.Value, how string) {
			was := reflect.ValueOf(v.Interface())
			v.Set(to)
			fields++
			if got := NewTask(r, like).record(); !reflect.DeepEqual(&got, r) {
				t.Errorf("%s: with it %s it becomes\n%+v, not\n%+v", path, how, got, r)
			}
			v.Set(was)
		}
		try(v, reflect.Zero(v.Type()), "left out")
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Field(i).CanSet() {
					walk(v.Field(i), r, path+"."+v.Type().Field(i).Name)
				}
			}
		case reflect.Pointer:
			walk(v.Elem(), r, path)
		case reflect.Slice:
			try(v, reflect.MakeSlice(v.Type(), 0, 0), "empty")
			if v.Len() > 0 {
				walk(v.Index(v.Len()-1), r, path+"[last]")
			}
		case reflect.Map:
			try(v, reflect.MakeMap(v.Type()), "empty")
		}
	}
	r := full()
	walk(reflect.ValueOf(r).Elem(), r, "record")
	if fields < 100 {
		t.Errorf("only %d changes were tried", fields)
	}
}

// TestTasksAreSmall: what each of the tasks of a job takes in memory, in the tries
// too, whether its command is its own or not.
func TestTasksAreSmall(t *testing.T) {
	const n = 50_000
	start, _ := New().Apply([]Command{{Init: &Init{cluster}}, {RegisterFramework: &RegisterFramework{Name: "f", Role: "eng"}}})
	for i := range 100 {
		start, _ = start.Apply([]Command{{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: fmt.Sprint("agent", i)}}}})
	}
	before := inUse()
	s := start
	for i := 0; i < n; i += 10 {
		batch := make([]Command, 10)
		for k := range batch {
			batch[k] = oneLaunch(i+k, "t")
			batch[k].Launch.Task.Agent = offers.AgentID(fmt.Sprintf("a%05d-c0de", 1+(i+k)%100))
		}
		entry, err := Encode(batch)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		s, _ = s.Apply(decoded)
	}
	each := (inUse() - before) / n
	t.Logf("%d bytes a task", each)
	if s.Counts().Live != n || each > mostOfTask {
		t.Errorf("%d tasks take %d bytes each; want at most %d", s.Counts().Live, each, mostOfTask)
	}
	runtime.KeepAlive(s)
}

// mostOfTask is a fifth more than was measured.
const mostOfTask = 215

// inUse returns how many bytes of the heap are.
func inUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
