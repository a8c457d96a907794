package replay

import (
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strconv"
	"strings"
)

// Order is in which sequence tasks arrive, and how nodes that are equally good
// are told apart.
type Order struct {
	Seed  int64
	Tasks []int // positions of the tasks, one per arrival
	Rank  []int // by node, a permutation
}

// overload is how much is asked in all of what there is.
const overload = 1.3

// MakeOrder returns the order of a seed: all tasks shuffled, then some of them
// again, or some of them taken out, until the devices that are asked for come
// to 1.3 times those that there are.
//
// Source: the experiments of Weng et al., USENIX ATC 2023, whose orders it
// repeats to the task: hence math/rand and not its successor, and the numbers
// drawn for nothing.
func MakeOrder(seed int64, nodes []Node, tasks []Task) Order {
	r := rand.New(rand.NewSource(seed))
	r.Int()
	ids := make([]int, len(tasks))
	var asked int64
	for i := range ids {
		ids[i] = i
		asked += tasks[i].GPU()
	}
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if target := overload * float64(capacity(nodes)); asked > 0 && target > 0 {
		ids = stretch(r, ids, tasks, asked, target)
	}
	return Order{Seed: seed, Tasks: ids, Rank: r.Perm(len(nodes))}
}

// stretch adds or removes tasks until the target is met. A task of several
// devices may pass it when it is added, as in the authors' orders.
func stretch(r *rand.Rand, ids []int, tasks []Task, asked int64, target float64) []int {
	if float64(asked) < target {
		for {
			i := r.Intn(len(tasks))
			if float64(asked+tasks[i].Slice) > target {
				return ids
			}
			ids = append(ids, i)
			asked += tasks[i].GPU()
		}
	}
	for float64(asked) > target {
		at := r.Intn(len(ids))
		asked -= tasks[ids[at]].GPU()
		ids = slices.Delete(ids, at, at+1)
	}
	return ids
}

// ReadArrivals reads a file with a column s1, s2, ... per seed: the position
// of the task that arrives at each step. A column may be shorter than others.
func ReadArrivals(name string, r io.Reader, seeds []int64, tasks int) (map[int64][]int, error) {
	wanted := make([]column, len(seeds))
	for i, seed := range seeds {
		wanted[i] = column{name: fmt.Sprint("s", seed)}
	}
	t, err := openTable(name, r, wanted...)
	if err != nil {
		return nil, err
	}
	orders := map[int64][]int{}
	for t.next() {
		for i, seed := range seeds {
			if t.text(wanted[i].name) != "" {
				orders[seed] = append(orders[seed], int(t.number(wanted[i].name, int64(tasks)-1)))
			}
		}
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
