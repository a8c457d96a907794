package replay

// kind is what nodes have and tasks ask for.
type kind int

const (
	cpus kind = iota // thousandths of a core
	mem              // MiB
	gpu              // thousandths of a device
	kindCount
)

// Kinds are the names of what is measured, in the order of every list by kind.
var Kinds = [kindCount]string{"cpus", "mem", "gpu"}

func (k kind) String() string { return Kinds[k] }

// amounts is one of each kind.
type amounts [kindCount]int64

func (n *Node) amounts() amounts { return amounts{n.CPU, n.Mem, int64(n.GPUs) * Whole} }
func (t *Task) amounts() amounts { return amounts{t.CPU, t.Mem, t.GPU()} }
func (h *host) amounts() amounts { return amounts{h.cpu, h.mem, h.gpu} }

func (a *amounts) add(b amounts, sign int64) {
	for k := range a {
		a[k] += sign * b[k]
	}
}

// total returns what all nodes have.
func total(nodes []Node) amounts {
	var sum amounts
	for i := range nodes {
		sum.add(nodes[i].amounts(), 1)
	}
	return sum
}

// scarce returns the kind that a workload is measured by: devices where there
// are any, and else that of which the tasks ask the larger part.
func scarce(nodes []Node, tasks []Task) kind {
	all := total(nodes)
	if all[gpu] > 0 {
		return gpu
	}
	var asked amounts
	for i := range tasks {
		asked.add(tasks[i].amounts(), 1)
	}
	if asked[mem]*max(all[cpus], 1) > asked[cpus]*max(all[mem], 1) {
		return mem
	}
	return cpus
}
