package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A yardstick is a published way to choose a node, done by looking at all of
// them: what the strategies of the master are measured against. It lives here
// because nothing that serves a cluster may depend on it.
type yardstick interface {
	// score says how much a host that has room is wanted, more is better, and
	// which device a part of one is to come from.
	score(h *host, t *Task) (score float64, device int)
}

// Yardsticks by name.
const (
	FirstFit   = "first-fit"
	BestFit    = "best-fit"
	DotProduct = "dot-product"
	FGD        = "fgd"
)

var yardsticks = []string{FirstFit, BestFit, DotProduct, FGD}

func newYardstick(name string, w *Workload) yardstick {
	switch name {
	case FirstFit:
		return firstFit{}
	case BestFit:
		return bestFit{kinds(w.Nodes)}
	case DotProduct:
		return dotProduct{kinds(w.Nodes)}
	case FGD:
		return newFGD(w.Tasks)
	}
	panic(fmt.Sprintf("replay: there is no yardstick %s", name))
}

// yard is an allocator that follows a yardstick. Between equals the first node
// by rank wins. Scores are kept until the host changes.
type yard struct {
	yardstick
	tasks   []Task
	shape   []int // by task; tasks of one shape are scored alike
	hosts   []host
	byRank  []int
	scores  [][]scored // by shape and host
	waiting []int      // jobs, in the order in which they are served
	jobs    []Job
	at      map[int]spot // by job that runs
}

type scored struct {
	version uint32
	device  int16 // -1: the task does not fit
	score   float64
}

func newYard(name string, w *Workload, order *Order) *yard {
	y := &yard{yardstick: newYardstick(name, w), tasks: w.Tasks, shape: shapes(w.Tasks),
		hosts: newHosts(w.Nodes), byRank: byRank(order.Rank), jobs: order.Jobs, at: map[int]spot{}}
	for range slices.Max(y.shape) + 1 {
		y.scores = append(y.scores, make([]scored, len(w.Nodes)))
	}
	return y
}

// shapes numbers the tasks that fit the same nodes equally alike.
func shapes(tasks []Task) []int {
	out, numbers := make([]int, len(tasks)), map[string]int{}
	for i := range tasks {
		key := tasks[i].key()
		if _, seen := numbers[key]; !seen {
			numbers[key] = len(numbers)
		}
		out[i] = numbers[key]
	}
	return out
}

// byRank returns the nodes in the order of their ranks.
func byRank(rank []int) []int {
	out := make([]int, len(rank))
	for node, r := range rank {
		out[r] = node
	}
	return out
}

func (y *yard) ask(job int) {
	y.waiting = enqueue(y.waiting, y.jobs, job)
}

// enqueue enters a job behind those of its priority.
func enqueue(queue []int, jobs []Job, job int) []int {
	at, _ := slices.BinarySearchFunc(queue, job, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(a, b))
	})
	return slices.Insert(queue, at, job)
}

func (y *yard) drop(job int) {
	y.waiting = slices.DeleteFunc(y.waiting, func(j int) bool { return j == job })
}

func (y *yard) end(job int) {
	s := y.at[job]
	delete(y.at, job)
	y.hosts[s.node].give(&y.tasks[y.jobs[job].Task], s.devices)
}

// serve goes through who waits, the highest priority and then the eldest first,
// and passes over what does not fit.
func (y *yard) serve(time.Duration) []started {
	var out []started
	full := map[int]bool{} // shapes
	y.waiting = slices.DeleteFunc(y.waiting, func(job int) bool {
		task := y.jobs[job].Task
		if full[y.shape[task]] {
			return false
		}
		s, ok := y.choose(task)
		if !ok {
			full[y.shape[task]] = true
			return false
		}
		y.hosts[s.node].take(&y.tasks[task], s.devices)
		y.at[job] = s
		out = append(out, started{job, s})
		return true
	})
	return out
}

func (y *yard) choose(task int) (spot, bool) {
	t, scores := &y.tasks[task], y.scores[y.shape[task]]
	best := -1
	for _, node := range y.byRank {
		s, h := &scores[node], &y.hosts[node]
		if s.version != h.version {
			*s = scored{version: h.version, device: -1}
			if h.fits(t) {
				score, device := y.score(h, t)
				s.score, s.device = score, int16(max(device, 0))
			}
		}
		if s.device >= 0 && (best < 0 || s.score > scores[best].score) {
			best = node
		}
	}
	if best < 0 {
		return spot{}, false
	}
	return spot{best, devicesFor(&y.hosts[best], t, int(scores[best].device))}, true
}

// devicesFor returns the devices that a task gets: the one that was chosen for
// a part, and else the first that are idle.
func devicesFor(h *host, t *Task, chosen int) []int {
	switch {
	case t.GPUs == 0:
		return nil
	case t.Slice < Whole:
		return []int{chosen}
	}
	var out []int
	for d, free := range h.devices {
		if free == Whole && len(out) < t.GPUs {
			out = append(out, d)
		}
	}
	return out
}

// largest is what the largest node has, which amounts are divided by.
type largest struct{ cpu, mem, gpu float64 }

// kinds returns by what nodes are compared: cpus and devices, and where there
// are no devices cpus and memory. What does not count is infinite.
func kinds(nodes []Node) largest {
	var l largest
	for _, n := range nodes {
		l.cpu = max(l.cpu, float64(n.CPU))
		l.mem = max(l.mem, float64(n.Mem))
		l.gpu = max(l.gpu, float64(n.GPUs)*Whole)
	}
	return l
}

// firstFit takes the first node that has room.
type firstFit struct{}

func (firstFit) score(h *host, t *Task) (float64, int) { return 0, h.bestDevice(t) }

// bestFit takes the node that is left with the least: the sum, over cpus and
// devices, or over cpus and memory where no node has devices, of what is free
// afterwards as a part of the largest node.
//
// Source: the policy BestFit of Weng et al., USENIX ATC 2023. Theirs rounds to
// whole hundredths.
type bestFit struct{ largest }

func (b bestFit) score(h *host, t *Task) (float64, int) {
	left := float64(h.cpu-t.CPU) / b.cpu
	if b.gpu > 0 {
		left += float64(h.gpu-t.GPU()) / b.gpu
	} else {
		left += float64(h.mem-t.Mem) / b.mem
	}
	return -left, h.bestDevice(t)
}

// dotProduct takes the node whose free amounts point the way of the demand most:
// the sum over kinds of what is free times what is asked, as parts of the
// largest node.
//
// Source: Grandl et al., "Multi-resource packing for cluster schedulers" (Tetris),
// SIGCOMM 2014.
type dotProduct struct{ largest }

func (d dotProduct) score(h *host, t *Task) (float64, int) {
	product := float64(h.cpu)*float64(t.CPU)/(d.cpu*d.cpu) + float64(h.mem)*float64(t.Mem)/(d.mem*d.mem)
	if d.gpu > 0 {
		product += float64(h.gpu) * float64(t.GPU()) / (d.gpu * d.gpu)
	}
	return product, h.bestDevice(t)
}
