package tasks

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// world is a dumb model of what is around a machine: the disk, the processes,
// a master. A crash throws the machine and everything not written down away.
type world struct {
	t        *rapid.T
	m        *Machine
	now      time.Time
	meta     Meta
	disk     map[offers.TaskRef]Known
	fetching map[offers.TaskRef]bool
	checking map[offers.TaskRef]bool
	gates    map[offers.TaskRef]bool // shims that wait
	shims    map[offers.TaskRef]record.Identity
	pids     int
	running  map[offers.TaskRef]bool
	runs     map[offers.TaskRef]int // how often its program was started since the task was forgotten
	ends     map[offers.TaskRef]offers.UpdateID
	last     map[offers.TaskRef]offers.State // as the master has it
	pending  []wire.TaskStatus

	copied   map[offers.TaskRef]Known // of the disk, some time ago
	copyMeta Meta
	older    bool // the masters are to say that the copy is one, until it is written down
	told     bool // they have said so

	outbox
}

func total() offers.Inventory {
	return offers.Inventory{
		Amounts: offers.Amounts{4000, 8 << 30},
		Ports:   offers.MakePorts(offers.PortRange{First: 100, Last: 103}),
		Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{{ID: "gpu-0", Capacity: 100}, {ID: "gpu-1", Capacity: 100}}}},
	}
}

func newWorld(t *rapid.T) *world {
	return &world{
		t: t, m: New(Config{Total: total()}, Meta{}), now: time.Unix(1000, 0), outbox: newOutbox(),
		disk: map[offers.TaskRef]Known{}, fetching: map[offers.TaskRef]bool{}, checking: map[offers.TaskRef]bool{}, gates: map[offers.TaskRef]bool{}, shims: map[offers.TaskRef]record.Identity{}, running: map[offers.TaskRef]bool{},
		copied: map[offers.TaskRef]Known{}, runs: map[offers.TaskRef]int{}, ends: map[offers.TaskRef]offers.UpdateID{}, last: map[offers.TaskRef]offers.State{},
	}
}

// reserve gives shims to some of the tasks that are about to start.
func (w *world) reserve() {
	for _, l := range w.m.Starting() {
		if rapid.Bool().Draw(w.t, "spare") {
			w.m.Reserved(l.Ref(), w.shim(l.Ref()))
		}
	}
}

// shim starts a shim for a task.
func (w *world) shim(ref offers.TaskRef) record.Identity {
	w.pids++
	w.shims[ref] = record.Identity{PID: w.pids}
	return w.shims[ref]
}

// prepared tells the machine who the shim of a task is.
func (w *world) prepared(ref offers.TaskRef) {
	shim, reserved := w.shims[ref]
	if !reserved {
		shim = w.shim(ref)
	}
	w.m.Prepared(ref, shim, w.now)
}

// settle does what the machine wants, or (crash > 0) only the first half.
func (w *world) settle(crash bool) {
	w.reserve()
	r := w.m.Ready()
	if r.Meta != nil {
		w.meta = *r.Meta
	}
	w.older, w.told = w.older && !w.told, false
	for _, l := range r.Launched {
		w.disk[l.Ref()] = Known{Launch: *l}
	}
	for _, ref := range r.Changed {
		k := w.disk[ref]
		k.Progress, _ = w.m.Progress(ref)
		w.disk[ref] = k
	}
	for _, ref := range r.Removed {
		delete(w.disk, ref)
		delete(w.runs, ref)
		delete(w.ends, ref)
		delete(w.last, ref)
		delete(w.shims, ref)
		w.removed(w.t, ref)
		if w.running[ref] {
			w.t.Fatalf("%s was forgotten while it runs", ref)
		}
	}
	if crash {
		return
	}
	for _, l := range r.Start {
		if w.gates[l.Ref()] || w.running[l.Ref()] || w.fetching[l.Ref()] {
			w.t.Fatalf("%s is prepared twice", l.Ref())
		}
		if len(l.Task.Artifacts) > 0 {
			w.fetching[l.Ref()] = true
		} else {
			w.gates[l.Ref()] = true
		}
	}
	for _, ref := range r.Cancel {
		if w.running[ref] {
			w.t.Fatalf("%s runs and its preparation is to end", ref)
		}
		if w.fetching[ref] {
			delete(w.fetching, ref)
			delete(w.shims, ref)
			w.m.Ended(ref, How{Failed: "cancelled", Reason: offers.ReasonArtifact}, w.now)
		}
	}
	for _, l := range r.Checks {
		if w.checking[l.Ref()] {
			w.t.Fatalf("%s is checked while it is checked", l.Ref())
		}
		w.checking[l.Ref()] = true
	}
	for _, ref := range r.Abandon {
		delete(w.gates, ref)
		delete(w.shims, ref)
		w.m.Ended(ref, How{Exit: record.Exit{Never: true}}, w.now)
	}
	for _, ref := range r.Release {
		if p := w.disk[ref].Progress.Process; p == nil || *p != w.shims[ref] {
			w.t.Fatalf("%s was released before its identity was on disk", ref)
		}
		if w.disk[ref].Progress.Kill != nil {
			w.t.Fatalf("%s was released although it was told to end", ref)
		}
		delete(w.gates, ref)
		w.running[ref] = true
		if w.runs[ref]++; w.runs[ref] > 1 {
			w.t.Fatalf("%s was started twice", ref)
		}
	}
	w.pending = append(w.pending, r.Send...)
	w.hear(r.Send)
	w.sent(w.t, r.Send, w.now)
}

// hear is the master: it checks order and that there is one end.
func (w *world) hear(statuses []wire.TaskStatus) {
	for _, s := range statuses {
		ref := offers.TaskRef{Framework: s.Framework, Task: s.Task}
		if _, known := w.disk[ref]; !known {
			w.t.Fatalf("%s was reported and is not on disk", ref)
		}
		if s.State.Terminal() {
			if id, ok := w.ends[ref]; ok && id != s.UpdateID {
				w.t.Fatalf("%s ended twice: %s and %s", ref, id, s.UpdateID)
			}
			w.ends[ref] = s.UpdateID
		}
		if s.State.MayFollow(w.last[ref]) {
			w.last[ref] = s.State
		}
	}
}

func (w *world) crash() {
	known := make([]Known, 0, len(w.disk))
	for _, k := range w.disk {
		known = append(known, k)
	}
	w.told = false
	clear(w.gates)
	clear(w.shims)
	w.restarted(w.disk)
	clear(w.fetching)
	clear(w.checking)
	w.m = New(Config{Total: total()}, w.meta)
	w.m.Restore(known, w.now)
	for _, k := range known {
		ref := k.Launch.Ref()
		if k.Progress.State.Terminal() || k.Progress.Process == nil {
			continue
		}
		if w.running[ref] {
			w.m.Adopted(ref, w.now)
		} else if w.runs[ref] == 0 {
			w.m.Ended(ref, How{Exit: record.Exit{Never: true}}, w.now)
		} else {
			w.m.Ended(ref, How{Exit: record.Exit{Code: 3}}, w.now)
		}
	}
}

// copyBack restarts the agent on the copy of its disk. Either it notices by
// itself or the masters say so. What the copy does not know the masters end,
// so its name may be launched anew.
func (w *world) copyBack(t *rapid.T) {
	w.disk, w.meta = maps.Clone(w.copied), w.copyMeta
	for ref := range w.runs {
		k, known := w.disk[ref]
		if !known {
			delete(w.runs, ref)
		}
		if k.Progress.Process == nil {
			delete(w.running, ref) // swept
		}
	}
	clear(w.ends)
	clear(w.last)
	w.forgotten()
	if w.older = rapid.Bool().Draw(t, "masters notice"); !w.older {
		w.meta.Doubt = "it is a copy"
	}
	w.crash()
}

func (w *world) ref(t *rapid.T) offers.TaskRef {
	return offers.TaskRef{
		Framework: offers.FrameworkID(fmt.Sprintf("f%d", rapid.IntRange(0, 1).Draw(t, "framework"))),
		Task:      offers.TaskID(fmt.Sprintf("t%d", rapid.IntRange(0, 3).Draw(t, "task"))),
	}
}

func (w *world) some(t *rapid.T, set map[offers.TaskRef]bool) (offers.TaskRef, bool) {
	if len(set) == 0 {
		return offers.TaskRef{}, false
	}
	return rapid.SampledFrom(sorted(set)).Draw(t, "of"), true
}

func (w *world) launch(t *rapid.T) {
	ref := w.ref(t)
	if _, known := w.disk[ref]; known {
		w.again(ref, w.now)
	}
	task := offers.Task{ID: ref.Task, Command: &offers.Command{Shell: "true"}}
	task.Resources.Amounts = offers.Amounts{rapid.Int64Range(0, 3000).Draw(t, "cpus"), rapid.Int64Range(0, 5<<30).Draw(t, "mem")}
	if rapid.Bool().Draw(t, "gpu") {
		task.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: rapid.Int64Range(0, 60).Draw(t, "slice")}}
	}
	if rapid.Bool().Draw(t, "artifacts") {
		task.Artifacts = []offers.Artifact{{URI: "https://h/a"}}
	}
	if rapid.Bool().Draw(t, "checked") {
		task.Health = &offers.Health{TCP: &offers.TCPPing{Port: 1}, Interval: offers.Duration(5 * time.Second), Failures: 2}
	}
	if rapid.Bool().Draw(t, "limited") {
		task.MaxRuntime = offers.Duration(20 * time.Second)
	}
	holding, _ := offers.NewRoom(total()).Plan(task.Resources, func(string) offers.Policy { return offers.Pack })
	_ = w.m.Launch(&wire.Launch{Term: w.meta.Term, Tasks: []wire.LaunchTask{{Framework: ref.Framework, Task: task, Holding: holding}}}, w.now)
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"launch": w.launch,
		"kill": func(t *rapid.T) {
			_ = w.m.Kill(&wire.KillTask{Term: w.meta.Term, TaskRef: w.ref(t), Reason: "asked"}, w.now)
		},
		"unwell": func(t *rapid.T) {
			w.m.Unwell(rapid.SampledFrom([]map[string]map[string]string{nil, unwell("XID 79"), {"gpu": {"gpu-1": "XID 48"}}}).Draw(t, "unwell"), w.now)
		},
		"stale": func(t *rapid.T) {
			if w.meta.Term > 0 && w.m.Kill(&wire.KillTask{Term: w.meta.Term - 1, TaskRef: w.ref(t)}, w.now) == nil {
				t.Fatal("an order of an old term was obeyed")
			}
		},
		"checked": func(t *rapid.T) {
			if ref, ok := w.some(t, w.checking); ok {
				delete(w.checking, ref)
				if outcome := rapid.SampledFrom([]string{"", "refused", "unknown"}).Draw(t, "outcome"); outcome == "unknown" {
					w.m.Unchecked(ref, w.now)
				} else {
					w.m.Checked(ref, outcome, w.now)
				}
			}
		},
		"fetched": func(t *rapid.T) {
			ref, ok := w.some(t, w.fetching)
			if !ok {
				return
			}
			delete(w.fetching, ref)
			if rapid.IntRange(0, 4).Draw(t, "in vain") == 0 {
				w.m.Ended(ref, How{Failed: "404", Reason: offers.ReasonArtifact}, w.now)
				return
			}
			w.m.Staged(ref, w.now)
			w.gates[ref] = true
		},
		"prepared": func(t *rapid.T) {
			if ref, ok := w.some(t, w.gates); ok {
				w.prepared(ref)
			}
		},
		"started": func(t *rapid.T) {
			if ref, ok := w.some(t, w.running); ok {
				w.m.Started(ref, w.now)
			}
		},
		"ended": func(t *rapid.T) {
			if ref, ok := w.some(t, w.running); ok {
				delete(w.running, ref)
				w.m.Ended(ref, How{Exit: record.Exit{Code: rapid.IntRange(0, 2).Draw(t, "code")}}, w.now)
			}
		},
		"acknowledge": func(t *rapid.T) {
			if len(w.pending) == 0 {
				return
			}
			s := rapid.SampledFrom(w.pending).Draw(t, "status")
			ack := wire.StatusRef{TaskRef: offers.TaskRef{Framework: s.Framework, Task: s.Task}, UpdateID: s.UpdateID}
			switch rapid.IntRange(0, 9).Draw(t, "mistaken") {
			case 7:
				ack.Framework += "x"
			case 8:
				ack.TaskRef = w.ref(t)
			case 9:
				ack.UpdateID += "x"
			}
			w.m.Acknowledge([]wire.StatusRef{ack}, w.now)
			w.acknowledged(ack, w.now)
		},
		"register": w.register,
		"disconnected": func(*rapid.T) {
			w.m.Disconnected()
			w.silence()
		},
		"refused": func(t *rapid.T) {
			if rapid.IntRange(0, 19).Draw(t, "really") == 0 {
				w.m.Refused(w.now)
				w.silence()
				for ref := range w.disk {
					w.disowned(ref)
				}
			}
		},
		"time": func(t *rapid.T) {
			later := w.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
			if next := w.m.Next(); next.After(w.now) && rapid.Bool().Draw(t, "when it asks") {
				later = next
			}
			w.now = later
			w.tick(w.now)
			w.m.Tick(w.now)
			if next := w.m.Next(); !next.IsZero() && !next.After(w.now) {
				t.Fatalf("at %v the machine asks for %v again", w.now, next)
			}
		},
		"copy":      func(*rapid.T) { w.copied, w.copyMeta = maps.Clone(w.disk), w.meta },
		"copy back": w.copyBack,
		"crash":     func(*rapid.T) { w.crash() },
	}
}

// cut adds, to each action, what may come before the machine is done with it:
// a crash before anything is written down, or before anything of what was
// written down is done, and the end of the connection before anything is sent.
func (w *world) cut(actions map[string]func(*rapid.T)) map[string]func(*rapid.T) {
	all := maps.Clone(actions)
	other := func(t *rapid.T) {
		actions[rapid.SampledFrom(slices.Sorted(maps.Keys(actions))).Draw(t, "in")](t)
	}
	all["crash in"] = func(t *rapid.T) {
		other(t)
		if rapid.Bool().Draw(t, "written") {
			w.settle(true)
		}
		w.crash()
	}
	all["disconnected in"] = func(t *rapid.T) {
		other(t)
		w.m.Disconnected()
		w.silence()
	}
	all[""] = w.rest
	return all
}

func (w *world) register(t *rapid.T) {
	answer := &wire.AgentRegistered{AgentID: "a1"}
	answer.Older = w.older
	answer.Master.Term = w.meta.Term + uint64(rapid.IntRange(0, 1).Draw(t, "later"))
	if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
		answer.Forget = append(answer.Forget, w.ref(t))
	}
	if err := w.m.Registered(answer, w.now); err != nil {
		t.Fatal(err)
	}
	for _, ref := range answer.Forget {
		if _, known := w.disk[ref]; known {
			w.disowned(ref)
		}
	}
	w.registered(w.now)
	w.told = true
}

// rest does all there is to do, and verifies every invariant.
func (w *world) rest(t *rapid.T) {
	for !w.m.ready.Empty() || len(w.m.dirty) > 0 {
		w.settle(false)
	}
	w.allSent(t)
	w.written(t, w.disk)
	if err := w.m.check(); err != nil {
		t.Fatal(err)
	}
	if due, waits := w.earliest(); waits && (w.m.Next().IsZero() || w.m.Next().After(due)) {
		t.Fatalf("a report is to be sent again at %v, and the machine asks for %v", due, w.m.Next())
	}
	w.now = w.now.Add(time.Nanosecond) // no two launches in the same moment
}

func sorted[V any](set map[offers.TaskRef]V) []offers.TaskRef {
	return slices.SortedFunc(maps.Keys(set), compareRefs)
}

// drain is a quiet end: a master listens and acknowledges what it hears, and
// every process ends.
func (w *world) drain(t *rapid.T) {
	w.register(t)
	w.rest(t)
	for range 100 {
		for _, ref := range sorted(w.fetching) {
			delete(w.fetching, ref)
			w.m.Staged(ref, w.now)
			w.gates[ref] = true
		}
		w.rest(t)
		for _, ref := range sorted(w.gates) {
			w.prepared(ref)
		}
		w.rest(t)
		for _, ref := range sorted(w.running) {
			delete(w.running, ref)
			w.m.Ended(ref, How{}, w.now)
		}
		w.rest(t)
		for _, ref := range sorted(w.lines) {
			if l := w.lines[ref]; len(l.waits) > 0 {
				ack := wire.StatusRef{TaskRef: ref, UpdateID: l.waits[0]}
				w.m.Acknowledge([]wire.StatusRef{ack}, w.now)
				w.acknowledged(ack, w.now)
				w.rest(t)
			}
		}
	}
	if len(w.disk) > 0 || w.m.room.Used() != (offers.Amounts{}) {
		t.Fatalf("after everything ended and was acknowledged %d tasks and %v are left", len(w.disk), w.m.room.Used())
	}
}

// TestMachineKeepsItsPromises: a task runs at most once and has one end, and
// its reports are sent in order until each is acknowledged, through crashes at
// any step.
func TestMachineKeepsItsPromises(t *testing.T) {
	for range 10 { // of 100 stories each
		rapid.Check(t, story)
	}
}

func story(t *rapid.T) {
	w := newWorld(t)
	actions := w.cut(w.actions())
	for range 3 {
		t.Repeat(actions)
	}
	w.drain(t)
}
