package replay

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Whole is a whole device, in thousandths.
const Whole = 1000

// Node is one host of a trace.
type Node struct {
	Name  string
	CPU   int64 // thousandths of a core
	Mem   int64 // MiB
	GPUs  int   // whole devices
	Model string
}

// Task is one task of a trace.
type Task struct {
	Name   string
	CPU    int64    // thousandths of a core
	Mem    int64    // MiB
	GPUs   int      // devices; 0: none
	Slice  int64    // thousandths of each device; below Whole only of a single one
	Models []string // that a node may have; none: any
	Line   int      // of the file that it stands in
}

// GPU returns what the task asks of devices in all, in thousandths.
func (t *Task) GPU() int64 { return int64(t.GPUs) * t.Slice }

// allows reports whether the task may run on nodes of that model.
func (t *Task) allows(model string) bool {
	return len(t.Models) == 0 || slices.Contains(t.Models, model)
}

// key is equal for tasks that fit the same nodes equally.
func (t *Task) key() string {
	return fmt.Sprint(t.CPU, " ", t.Mem, " ", t.GPUs, " ", t.Slice, " ", t.Models)
}

const maxMilli, maxMiB = 1 << 40, offers.MaxAmount >> 20

// ReadNodes reads a node file: node (sn), cpu_milli, mem_mib (memory_mib),
// gpus (gpu), model. name is what errors call the file.
func ReadNodes(name string, r io.Reader) ([]Node, error) {
	t, err := openTable(name, r, column{name: "node", also: []string{"sn"}}, column{name: "cpu_milli"},
		column{name: "mem_mib", also: []string{"memory_mib"}}, column{name: "gpus", also: []string{"gpu"}},
		column{name: "model", optional: true})
	if err != nil {
		return nil, err
	}
	var nodes []Node
	known := map[string]bool{}
	for t.next() {
		if id := t.text("node"); known[id] {
			t.fail("node", fmt.Errorf("there are two nodes %.60q", id))
		} else {
			known[id] = true
		}
		nodes = append(nodes, Node{
			Name: t.text("node"), CPU: t.number("cpu_milli", 0, maxMilli), Mem: t.number("mem_mib", 0, maxMiB),
			GPUs: int(t.number("gpus", 0, offers.MaxDevices)), Model: t.text("model"),
		})
	}
	if t.err == nil && len(nodes) == 0 {
		t.err = fmt.Errorf("%s: there is no node in it", name)
	}
	return nodes, t.err
}

// ReadTasks reads a task file: task (name), cpu_milli, mem_mib (memory_mib),
// num_gpu, gpu_milli and, where it is there, models (gpu_spec): the models of
// node that will do, joined by |.
//
// A file with a column arrival_ms is a workload of its own, returned as jobs by
// arrival: it has duration_ms too, and may have role and priority (from -1000 to
// 1000, higher first). Its tasks wait until they have run, so one for which none
// of the nodes is large enough is an error.
func ReadTasks(name string, r io.Reader, nodes []Node) ([]Task, []Job, error) {
	t, err := openTable(name, r, column{name: "task", also: []string{"name"}}, column{name: "cpu_milli"},
		column{name: "mem_mib", also: []string{"memory_mib"}}, column{name: "num_gpu"}, column{name: "gpu_milli"},
		column{name: "models", also: []string{"gpu_spec"}, optional: true}, column{name: "arrival_ms", optional: true},
		column{name: "duration_ms", with: "arrival_ms"}, column{name: "role", optional: true}, column{name: "priority", optional: true})
	if err != nil {
		return nil, nil, err
	}
	var tasks []Task
	var jobs []Job
	timed, lacking := t.has("arrival_ms"), lacks(nodes)
	for t.next() {
		task := t.task()
		tasks = append(tasks, task)
		if timed {
			if lack := lacking(&task); lack != nil {
				t.fail(lack.Field, lack)
			}
			jobs = append(jobs, t.job(len(tasks)-1))
		}
	}
	if t.err == nil && len(tasks) == 0 {
		t.err = fmt.Errorf("%s: there is no task in it", name)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrive, b.Arrive) })
	return tasks, jobs, t.err
}

// task reads what the row asks for.
func (t *table) task() Task {
	line, _ := t.csv.FieldPos(0)
	task := Task{
		Line: line, Name: t.text("task"), CPU: t.number("cpu_milli", 0, maxMilli), Mem: t.number("mem_mib", 0, maxMiB),
		GPUs: int(t.number("num_gpu", 0, offers.MaxDevices)), Slice: t.number("gpu_milli", 0, Whole),
	}
	task.shape(t)
	for m := range strings.SplitSeq(t.text("models"), "|") {
		if m = strings.TrimSpace(m); m != "" {
			task.Models = append(task.Models, m)
		}
	}
	return task
}

// job reads when the row's task comes and for whom.
func (t *table) job(task int) Job {
	j := Job{
		Task: task, Arrive: time.Duration(t.number("arrival_ms", 0, maxMillis)) * time.Millisecond,
		Run:  time.Duration(t.number("duration_ms", 1, maxMillis)) * time.Millisecond,
		Role: offers.Role(t.text("role")), Priority: int(t.number("priority", -maxPriority, maxPriority)),
	}
	if j.Role != "" {
		if err := j.Role.Validate(); err != nil {
			t.fail("role", err)
		}
	}
	return j
}

const (
	maxMillis   = 100 * 365 * 24 * 3600 * 1000 // a century
	maxPriority = 1000
)

// Unfit returns the tasks that no node could run even if it were empty, in their
// order, and what the first of them lacks.
func (w *Workload) Unfit() (out []*Task, first *Lack) {
	lacking := lacks(w.Nodes)
	for i := range w.Tasks {
		lack := lacking(&w.Tasks[i])
		if lack == nil {
			continue
		}
		if first == nil {
			first = lack
		}
		out = append(out, &w.Tasks[i])
	}
	return out, first
}

// Lack is what a task asks for and no node has.
type Lack struct {
	Field string // to blame
	What  string
}

func (l *Lack) Error() string { return "no node has " + l.What }

// lacks returns a check that says what no node has for a task.
func lacks(nodes []Node) func(*Task) *Lack {
	hosts, known := newHosts(nodes), map[string]*Lack{}
	fit := func(t *Task) bool { return slices.ContainsFunc(hosts, func(h host) bool { return h.fits(t) }) }
	return func(t *Task) *Lack {
		key := t.key()
		lack, seen := known[key]
		if !seen && !fit(t) {
			lack = t.lack(fit)
		}
		known[key] = lack
		return lack
	}
}

// lack says what of the task fits nowhere.
func (t *Task) lack(fit func(*Task) bool) *Lack {
	for _, part := range []struct {
		alone Task
		lack  Lack
	}{
		{Task{CPU: t.CPU}, Lack{"cpu_milli", fmt.Sprint(t.CPU)}},
		{Task{Mem: t.Mem}, Lack{"mem_mib", fmt.Sprint(t.Mem)}},
		{Task{GPUs: t.GPUs, Slice: t.Slice}, Lack{"num_gpu", fmt.Sprint(t.GPUs)}},
		{Task{Models: t.Models}, Lack{"models", strings.Join(t.Models, "|")}},
	} {
		if !fit(&part.alone) {
			return &part.lack
		}
	}
	return &Lack{"task", fmt.Sprintf("all that %s asks for together", t.Name)}
}

// shape refuses what no cluster can run, with the field to blame.
func (task *Task) shape(t *table) {
	switch {
	case task.GPUs == 0 && task.Slice > 0:
		t.fail("num_gpu", fmt.Errorf("it is 0, and %d thousandths of a device are asked", task.Slice))
	case task.GPUs > 0 && task.Slice == 0:
		t.fail("gpu_milli", fmt.Errorf("it is 0, and %d devices are asked", task.GPUs))
	case task.GPUs > 1 && task.Slice < Whole:
		t.fail("gpu_milli", fmt.Errorf("a part of a device can be asked of one device only, not of %d", task.GPUs))
	case task.CPU == 0 && task.Mem == 0 && task.GPUs == 0:
		t.fail("cpu_milli", fmt.Errorf("the task asks for nothing at all"))
	}
}
