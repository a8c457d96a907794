package replay

import (
	"cmp"
	"math"
	"slices"
)

// fgd is fragmentation gradient descent: the node whose free devices lose least
// in use to the usual tasks. The fragments of a node in the eyes of a task are
// the free thousandths that it can't take there:
//
//	F(task) = all that is free    where the task does not fit, or asks for no device
//	        = what is free on the devices that are too full for it    else
//	F(node) = sum over the usual tasks of their part * F(task)
//	score   = trunc(100 / (1 + exp(-(F before - F after) / 1000)))    largest wins
//
// Usual are the most frequent shapes that make up 95 % of all tasks. It knows
// them beforehand, from the whole file, which the strategies of the master do
// not. A part of a device comes from the device with the best score.
//
// Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing
// Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, section 4,
// with the rounding of the authors' experiments; on their trace it comes to
// the published allocation (see TestYardsticksAsPublished).
type fgd struct {
	usual []usual
	none  float64 // part of the usual tasks that ask for no device
}

// usual is one shape of task and its part of all.
type usual struct {
	Task
	part float64
}

const usualPart = 0.95

func newFGD(tasks []Task) *fgd {
	all := frequencies(tasks, false)
	var sum float64
	n := 0
	for ; n < len(all) && sum < usualPart-1e-12; n++ {
		sum += all[n].part
	}
	f := &fgd{}
	for _, u := range all[:n] {
		if u.part /= sum; u.GPUs == 0 {
			f.none += u.part
		} else {
			f.usual = append(f.usual, u)
		}
	}
	return f
}

// frequencies returns the shapes of tasks with their parts of all, the most
// frequent first.
func frequencies(tasks []Task, withMem bool) []usual {
	at := map[string]int{}
	var out []usual
	for _, t := range tasks {
		if t.Name = ""; !withMem {
			t.Mem = 0
		}
		key := t.key()
		if _, seen := at[key]; !seen {
			at[key] = len(out)
			out = append(out, usual{Task: t})
		}
		out[at[key]].part += 1 / float64(len(tasks))
	}
	slices.SortStableFunc(out, func(a, b usual) int { return cmp.Compare(b.part, a.part) })
	return out
}

func (f *fgd) score(h *host, t *Task) (float64, int) {
	before := f.fragments(h)
	if t.GPUs != 1 || t.Slice == Whole {
		return f.gain(h, t, before, devicesFor(h, t, 0)), 0
	}
	best, device := -1.0, -1
	for d, free := range h.devices {
		if free < t.Slice {
			continue
		}
		if s := f.gain(h, t, before, []int{d}); s > best {
			best, device = s, d
		}
	}
	return best, device
}

// gain returns the score of a placement on certain devices.
func (f *fgd) gain(h *host, t *Task, before float64, devices []int) float64 {
	h.take(t, devices)
	after := f.fragments(h)
	h.give(t, devices)
	h.version -= 2
	return math.Trunc(100 / (1 + math.Exp((after-before)/1000)))
}

// fragments returns the expected thousandths that are lost to a usual task.
func (f *fgd) fragments(h *host) float64 {
	sum := f.none * float64(h.gpu)
	for i := range f.usual {
		u := &f.usual[i]
		sum += u.part * float64(h.lost(&u.Task))
	}
	return sum
}

// lost returns the free thousandths of devices that a task with devices can't
// take.
func (h *host) lost(t *Task) int64 {
	if h.cpu < t.CPU || h.mem < t.Mem || !t.allows(h.node.Model) {
		return h.gpu
	}
	var small int64
	n := 0
	for _, free := range h.devices {
		if free < t.Slice {
			small += free
		} else {
			n++
		}
	}
	if n < t.GPUs {
		return h.gpu
	}
	return small
}
