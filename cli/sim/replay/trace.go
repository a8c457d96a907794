package replay

import (
	"fmt"
	"io"
	"strings"

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
}

// GPU returns what the task asks of devices in all, in thousandths.
func (t *Task) GPU() int64 { return int64(t.GPUs) * t.Slice }

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
	for t.next() {
		nodes = append(nodes, Node{
			Name: t.text("node"), CPU: t.number("cpu_milli", maxMilli), Mem: t.number("mem_mib", maxMiB),
			GPUs: int(t.number("gpus", offers.MaxDevices)), Model: t.text("model"),
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
func ReadTasks(name string, r io.Reader) ([]Task, error) {
	t, err := openTable(name, r, column{name: "task", also: []string{"name"}}, column{name: "cpu_milli"},
		column{name: "mem_mib", also: []string{"memory_mib"}}, column{name: "num_gpu"}, column{name: "gpu_milli"},
		column{name: "models", also: []string{"gpu_spec"}, optional: true})
	if err != nil {
		return nil, err
	}
	var tasks []Task
	for t.next() {
		task := Task{
			Name: t.text("task"), CPU: t.number("cpu_milli", maxMilli), Mem: t.number("mem_mib", maxMiB),
			GPUs: int(t.number("num_gpu", offers.MaxDevices)), Slice: t.number("gpu_milli", Whole),
		}
		task.shape(t)
		for m := range strings.SplitSeq(t.text("models"), "|") {
			if m = strings.TrimSpace(m); m != "" {
				task.Models = append(task.Models, m)
			}
		}
		tasks = append(tasks, task)
	}
	if t.err == nil && len(tasks) == 0 {
		t.err = fmt.Errorf("%s: there is no task in it", name)
	}
	return tasks, t.err
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

// capacity returns the devices of all nodes, in thousandths.
func capacity(nodes []Node) int64 {
	var sum int64
	for i := range nodes {
		sum += int64(nodes[i].GPUs) * Whole
	}
	return sum
}
