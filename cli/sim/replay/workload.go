package replay

import (
	"fmt"
	"time"
)

// Workload is what is replayed.
type Workload struct {
	Nodes  []Node
	Tasks  []Task
	Way    Way
	Load   float64 // of churn
	Orders []Order // each is a run of its own
}

// Way is what becomes of tasks.
type Way int

const (
	Filling Way = iota // they stay for ever, and are dropped where nothing fits
	Churn              // they end, and are dropped where nothing fits
	Waiting            // they end, and wait where nothing fits
)

// SetFilling lets tasks arrive one by one and stay; see [MakeOrder].
func (w *Workload) SetFilling(seeds []int64) {
	w.Way, w.Orders = Filling, nil
	for _, seed := range seeds {
		w.Orders = append(w.Orders, MakeOrder(seed, w.Nodes, w.Tasks))
	}
}

// SetChurn lets tasks come and go at a load, 1 being all there is; see
// [MakeChurn].
func (w *Workload) SetChurn(seeds []int64, load float64) {
	w.Way, w.Load, w.Orders = Churn, load, nil
	for _, seed := range seeds {
		w.Orders = append(w.Orders, MakeChurn(seed, load, w.Nodes, w.Tasks))
	}
}

// SetJobs lets tasks arrive when they say. The seeds tell equally good nodes
// apart.
func (w *Workload) SetJobs(seeds []int64, jobs []Job) {
	w.Way, w.Orders = Waiting, Orders(seeds, jobs, w.Nodes)
}

// warm returns the beginning that is not measured.
func (w *Workload) warm() time.Duration {
	if w.Way == Churn {
		return churnWarm
	}
	return 0
}

// horizon returns when nobody arrives any more.
func (w *Workload) horizon(order *Order) time.Duration {
	if w.Way == Churn || len(order.Jobs) == 0 {
		return churnSpan
	}
	return order.Jobs[len(order.Jobs)-1].Arrive
}

// Arrivals returns how many there are in all orders.
func (w *Workload) Arrivals() int {
	n := 0
	for i := range w.Orders {
		n += len(w.Orders[i].Jobs)
	}
	return n
}

// Measured returns the kind by which the workload is measured.
func (w *Workload) Measured() string { return scarce(w.Nodes, w.Tasks).String() }

// Present returns the kinds that the nodes have, as positions in [Kinds].
func (w *Workload) Present() []int {
	var out []int
	for k, n := range total(w.Nodes) {
		if n > 0 {
			out = append(out, k)
		}
	}
	return out
}

// nouns are how the kinds are called in sentences.
var nouns = [kindCount]string{"cpus", "memory", "GPUs"}

// counted writes a number of things.
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Describe says in a line what is replayed and what is measured.
func (w *Workload) Describe() string {
	all := total(w.Nodes)
	text := counted(int64(len(w.Nodes)), "node")
	if all[gpu] > 0 {
		text += " with " + counted(all[gpu]/Whole, "GPU")
	}
	text += ", " + counted(int64(w.Arrivals()), "arrival")
	if n := len(w.Orders); n > 1 {
		text += fmt.Sprintf(" in %d runs", n)
	}
	noun := nouns[scarce(w.Nodes, w.Tasks)]
	switch w.Way {
	case Filling:
		return text + fmt.Sprintf("; %s allocated, in %% of all, when so much was asked for:", noun)
	case Churn:
		return text + fmt.Sprintf("; %s refused, in %% of what was asked for, at a load of %v:", noun, w.Load)
	}
	return text + "; how long tasks waited, and how far roles were from fair shares:"
}

// DescribeRest says in a line what the second table tells of.
func (w *Workload) DescribeRest() string {
	when := "on the mean"
	if w.Way == Filling {
		when = "in the end"
	}
	return fmt.Sprintf("Used and stranded (free, but of no use to a task that asks for it) %s, in %% of all:", when)
}
