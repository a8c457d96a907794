package replay

import (
	"fmt"
	"io"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Order is in which sequence tasks arrive, and how nodes that are equally good
// are told apart.
type Order struct {
	Seed int64
	Jobs []Job // by arrival
	Rank []int // by node, a permutation
}

// Job is one arrival of a task.
type Job struct {
	Task     int           // its position
	Arrive   time.Duration // since the beginning
	Run      time.Duration // from when it is placed; 0: for ever
	Role     offers.Role   // "": default
	Priority int           // among what waits in its role; higher first
}

func (j *Job) role() offers.Role {
	if j.Role == "" {
		return "default"
	}
	return j.Role
}

// rolesOf returns the roles that have jobs, sorted.
func rolesOf(jobs []Job) []offers.Role {
	roles := map[offers.Role]bool{}
	for i := range jobs {
		roles[jobs[i].role()] = true
	}
	return slices.Sorted(maps.Keys(roles))
}

// oneByOne lets tasks arrive second by second and stay for ever.
func oneByOne(tasks []int) []Job {
	jobs := make([]Job, len(tasks))
	for i, task := range tasks {
		jobs[i] = Job{Task: task, Arrive: time.Duration(i+1) * time.Second}
	}
	return jobs
}

// overload is how much is asked in all of what there is.
const overload = 1.3

// MakeOrder returns the order of a seed: all tasks shuffled, then some of them
// again, or some of them taken out, until the devices that are asked for come
// to 1.3 times those that there are; without devices, the kind that is scarcer.
//
// Source: the experiments of Weng et al., USENIX ATC 2023, whose orders it
// repeats to the task: hence math/rand and not its successor, and the numbers
// drawn for nothing.
func MakeOrder(seed int64, nodes []Node, tasks []Task) Order {
	r := rand.New(rand.NewSource(seed))
	r.Int()
	ids := make([]int, len(tasks))
	by := scarce(nodes, tasks)
	var asked int64
	for i := range ids {
		ids[i] = i
		asked += tasks[i].amounts()[by]
	}
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if target := overload * float64(total(nodes)[by]); asked > 0 && target > 0 {
		ids = stretch(r, ids, tasks, by, asked, target)
	}
	return Order{Seed: seed, Jobs: oneByOne(ids), Rank: r.Perm(len(nodes))}
}

// Orders returns one for each seed, in which the same jobs arrive at the same
// times; the seeds tell equally good nodes apart.
func Orders(seeds []int64, jobs []Job, nodes []Node) []Order {
	out := make([]Order, len(seeds))
	for i, seed := range seeds {
		out[i] = Order{Seed: seed, Jobs: jobs, Rank: rand.New(rand.NewSource(seed)).Perm(len(nodes))}
	}
	return out
}

// stretch adds or removes tasks until the target is met. A task of several
// devices may pass it when it is added, as in the authors' orders.
func stretch(r *rand.Rand, ids []int, tasks []Task, by kind, asked int64, target float64) []int {
	if float64(asked) < target {
		for {
			i := r.Intn(len(tasks))
			if float64(asked+tasks[i].perDevice(by)) > target {
				return ids
			}
			ids = append(ids, i)
			asked += tasks[i].amounts()[by]
		}
	}
	for float64(asked) > target {
		at := r.Intn(len(ids))
		asked -= tasks[ids[at]].amounts()[by]
		ids = slices.Delete(ids, at, at+1)
	}
	return ids
}

// perDevice returns what the task asks of a kind, of each device if it is they.
func (t *Task) perDevice(by kind) int64 {
	if by == gpu {
		return t.Slice
	}
	return t.amounts()[by]
}

// ReadArrivals reads a file with a column s1, s2, ... per seed: the position
// of the task that arrives at each step. A column may be shorter than others.
func ReadArrivals(name string, r io.Reader, seeds []int64, tasks int) (map[int64][]Job, error) {
	wanted := make([]column, len(seeds))
	for i, seed := range seeds {
		wanted[i] = column{name: fmt.Sprint("s", seed)}
	}
	t, err := openTable(name, r, wanted...)
	if err != nil {
		return nil, err
	}
	arrivals := map[int64][]int{}
	for t.next() {
		for i, seed := range seeds {
			if t.text(wanted[i].name) != "" {
				arrivals[seed] = append(arrivals[seed], int(t.number(wanted[i].name, 0, int64(tasks)-1)))
			}
		}
	}
	orders := map[int64][]Job{}
	for seed, tasks := range arrivals {
		orders[seed] = oneByOne(tasks)
	}
	return orders, t.err
}

// ParseSeeds reads "42-51" or "1,2,7-9".
func ParseSeeds(text string) ([]int64, error) {
	var seeds []int64
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 32)
		last, err2 := strconv.ParseInt(to, 10, 32)
		if err != nil || err2 != nil || first < 0 || last < first || last-first >= maxSeeds || len(seeds) >= maxSeeds {
			return nil, fmt.Errorf("%q is not a list of seeds such as 42-51 or 1,2,7", text)
		}
		for s := first; s <= last; s++ {
			if slices.Contains(seeds, s) {
				return nil, fmt.Errorf("seed %d is named twice", s)
			}
			seeds = append(seeds, s)
		}
	}
	return seeds, nil
}

const maxSeeds = 1000
