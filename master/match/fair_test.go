package match

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// crowd is a fair-share tree of two kinds with one framework a role.
type crowd struct {
	*fair
	leaves map[string]*node
}

func newCrowd(cpus, mem int64) *crowd {
	c := &crowd{newFair(2, make([]bool, 2)), map[string]*node{}}
	c.setTotal([]int64{cpus, mem})
	return c
}

func (c *crowd) add(role string, weight float64, cpus, mem int64) {
	c.leaves[role] = c.enter(offers.Role(role), "f", &framework{id: offers.FrameworkID(role)})
	c.setWeight(c.role(offers.Role(role)), weight)
	c.take(role, cpus, mem)
}

func (c *crowd) take(role string, cpus, mem int64) {
	c.allocate(c.leaves[role], []int64{cpus, mem}, cpus+mem > 0)
}

func (c *crowd) remove(role string) {
	leaf := c.leaves[role]
	c.take(role, -leaf.alloc.n[0], -leaf.alloc.n[1])
	leaf.leaf = nil
	leaf.parent.parent.weight = 1
	c.prune(leaf)
	delete(c.leaves, role)
}

// order serves everyone once, so it shows what the heaps say and not a sort.
func (c *crowd) order() string {
	var names []string
	for _, leaf := range c.leaves {
		c.wake(leaf)
	}
	for f := c.next(); f != nil; f = c.next() {
		names = append(names, string(f.id))
		c.sleep(c.leaves[string(f.id)])
	}
	return strings.Join(names, ",")
}

func TestFairOrderUnweighted(t *testing.T) {
	c := newCrowd(100, 100)
	step := func(want string) {
		t.Helper()
		if got := c.order(); got != want {
			t.Fatalf("order is %s, want %s", got, want)
		}
	}
	c.add("a", 1, 5, 5)
	c.add("b", 1, 6, 6)
	step("a,b")
	c.add("c", 1, 1, 1)
	c.add("d", 1, 3, 1)
	step("c,d,a,b")
	c.remove("a")
	c.take("b", -4, -4)
	step("c,b,d")
	c.add("e", 1, 1, 5)
	c.setTotal([]int64{50, 100})
	step("c,b,e,d")
	c.setTotal([]int64{50, 200})
	c.add("f", 1, 5, 1)
	c.take("c", 0, 15)
	step("e,b,d,c,f")
}

func TestFairOrderWeighted(t *testing.T) {
	c := newCrowd(100, 100)
	step := func(want string) {
		t.Helper()
		if got := c.order(); got != want {
			t.Fatalf("order is %s, want %s", got, want)
		}
	}
	c.add("a", 1, 5, 5)
	c.add("b", 2, 6, 6)
	step("b,a")
	c.add("c", 1, 4, 4)
	step("b,c,a")
	c.add("d", 10, 10, 20)
	step("d,b,c,a")
	c.remove("b")
	c.take("d", 10, 25)
	d := c.role("d")
	if c.freshen(d); d.key != 0.045 {
		t.Fatalf("d has %v, want 0.045", d.key)
	}
	step("c,d,a")
	c.add("e", 0.1, 1, 1)
	step("c,d,a,e")
}

func TestFairTiesGoByAllocationsThenName(t *testing.T) {
	c := newCrowd(100, 100)
	c.add("b", 1, 0, 0)
	c.add("a", 1, 0, 0)
	if got := c.order(); got != "a,b" {
		t.Fatalf("equal shares are served %s, want by name", got)
	}
	c.take("a", 1, 0)
	c.take("a", -1, 0)
	if got := c.order(); got != "b,a" {
		t.Fatalf("equal shares are served %s, want the fewer allocations first", got)
	}
}

// TestProgressiveFilling is the golden case of ALGORITHMS section 2.
func TestProgressiveFilling(t *testing.T) {
	c := newCrowd(9, 18)
	c.add("A", 1, 0, 0)
	c.add("B", 1, 0, 0)
	ask := map[string][2]int64{"A": {1, 4}, "B": {3, 1}}
	ran := map[string]int{}
	free := [2]int64{9, 18}
	c.wake(c.leaves["A"])
	c.wake(c.leaves["B"])
	for f := c.next(); f != nil; f = c.next() {
		x := ask[string(f.id)]
		if x[0] > free[0] || x[1] > free[1] {
			c.sleep(c.leaves[string(f.id)])
			continue
		}
		free[0] -= x[0]
		free[1] -= x[1]
		c.take(string(f.id), x[0], x[1])
		ran[string(f.id)]++
	}
	if ran["A"] != 3 || ran["B"] != 2 {
		t.Fatalf("A runs %d and B runs %d tasks, want 3 and 2", ran["A"], ran["B"])
	}
	for name, kind := range map[string]int{"A": 1, "B": 0} {
		if share, k := c.share(c.leaves[name]); share != 2.0/3 || k != kind {
			t.Errorf("%s has the dominant share %v of kind %d, want 2/3 of %d", name, share, k, kind)
		}
	}
}

// TestFairHierarchy holds that siblings are compared with siblings: ops is
// behind eng as a whole although eng/ml alone has less than eng/web.
func TestFairHierarchy(t *testing.T) {
	c := newCrowd(100, 100)
	c.add("eng/web", 1, 6, 0)
	c.add("eng/ml", 1, 1, 0)
	c.add("ops", 1, 5, 0)
	if got := c.order(); got != "ops,eng/ml,eng/web" {
		t.Fatalf("order is %s, want ops,eng/ml,eng/web", got)
	}
	c.setWeight(c.role("eng"), 2)
	if got := c.order(); got != "eng/ml,eng/web,ops" {
		t.Fatalf("with weight 2 for eng the order is %s, want eng/ml,eng/web,ops", got)
	}
}

func TestFairExcludedKindsDontCount(t *testing.T) {
	c := newCrowd(100, 100)
	c.excluded[1] = true
	c.add("a", 1, 2, 90)
	c.add("b", 1, 3, 0)
	if got := c.order(); got != "a,b" {
		t.Fatalf("order is %s, want a,b since mem is excluded", got)
	}
}

// TestFairAgainstSorting compares the heaps with sorting everybody anew, over
// random changes.
func TestFairAgainstSorting(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := newCrowd(1000, 1000)
		for i := range 12 {
			c.add(fmt.Sprintf("r%d/s%d", i%4, i), 1, rnd.Int64N(50), rnd.Int64N(50))
		}
		for range 300 {
			i := rnd.IntN(12)
			name := fmt.Sprintf("r%d/s%d", i%4, i)
			switch rnd.IntN(5) {
			case 0:
				c.setTotal([]int64{500 + rnd.Int64N(1000), 500 + rnd.Int64N(1000)})
			case 1:
				c.setWeight(c.role(offers.Role(name)), float64(1+rnd.IntN(4)))
			case 2:
				c.wake(c.leaves[name])
			case 3:
				c.sleep(c.leaves[name])
			default:
				c.take(name, rnd.Int64N(20), rnd.Int64N(20))
			}
			if got, want := c.next(), c.naiveNext(c.root); got != want {
				t.Fatalf("seed %d: next is %v, want %v", seed, got, want)
			}
			if err := c.check(c.root); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func (c *crowd) naiveNext(n *node) *framework {
	if n.leaf != nil {
		if n.at >= 0 {
			return n.leaf
		}
		return nil
	}
	kids := make([]node, 0, len(n.children)) // copies, so that nothing is mended by looking
	for _, k := range n.children {
		share, _ := c.share(k)
		kids = append(kids, node{name: k.name, count: k.count, key: share / k.weight})
	}
	slices.SortFunc(kids, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.count, b.count), cmp.Compare(a.name, b.name))
	})
	for _, k := range kids {
		if f := c.naiveNext(n.children[k.name]); f != nil {
			return f
		}
	}
	return nil
}

// check verifies the invariants of a subtree.
func (f *fair) check(n *node) error {
	sum := make([]int64, len(n.alloc.n))
	for _, c := range n.children {
		for k, a := range c.alloc.n {
			sum[k] = stoppedPlus(sum[k], a)
		}
		waits := c.at >= 0
		if c.leaf == nil && waits != (c.ready.Len() > 0) {
			return fmt.Errorf("%s stands in its parent's heap: %v, with %d below it ready", c.name, waits, c.ready.Len())
		}
		if err := f.check(c); err != nil {
			return err
		}
	}
	if n.leaf == nil && !slices.Equal(sum, n.alloc.n) {
		return fmt.Errorf("%q has %v, its children %v", n.name, n.alloc.n, sum)
	}
	return nil
}
