package match

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// balance is the strategy `balance`: it evens out how much of each kind is given
// away on an agent, kinds weighted by how scarce they are in the cluster, so
// that no kind runs out while others are left over:
//
//	d_k = (asked_k + used_k) / total_k      y = sqrt( Σ w_k (d_k - mean)² )
//
// over the kinds that count and that the agent has; used is what tasks and
// offers hold, and a device class counts once, by the sum of its devices. y is
// how uneven the agent is; 0 is even.
//
// Weights are the mean of up to three sources, each summing to 1 (see
// [Balance]): those that are configured; the kinds ranked by how many demands
// wait because they are short; the kinds ranked by how much of them is given
// away in the cluster. Ranked: m_ij is 1 where i scores higher than j, 0 where
// lower, and 1/2 where equal and on the diagonal; the weight of i is its row's
// sum by the sum of all. They are made anew for every decision.
//
// While less of the cluster is given away than the threshold says, on the mean
// of the kinds, it takes the first agent that the unit makes more even, in a
// walk that starts one agent further each time. Where there is none, and from
// the threshold on, it reads all agents that fit and takes the smallest y. Where
// several demands wait, see [Matcher.letPass].
//
// Source: ALGORITHMS section 4. Two things are ours: that kinds without a weight
// do not count in the utilisation either, and that the closest fit wins between
// equals.
//
// Golden case: one empty agent with 100 cpus, 1000 of mem and 10 gpus, and
// waiting in this order job5 (20, 500, 4), job2 (30, 400, 2), job1 (40, 200, 2),
// job4 (40, 300, 4), job3 (30, 300, 1), job6 (30, 200, 1). In that order job5 and
// job2 are placed and (50, 100, 4) are stranded. `balance` by usage alone, or by
// equal weights, places job5; then the weights are 1/9, 5/9 and 3/9 and y is
// 0.1155; job2 would make it 0.1866 and is passed over, job1 makes it 0.0544 and
// job4 nothing. Nothing is stranded.
type balance struct {
	config  Balance
	score   func(*search, *agent) int64 // after, as one value
	initial []int64                     // configured weights by fair kind, millionths
	kinds   *kinds                      // that initial was made for
	weights []int64                     // by fair kind, millionths; 0: does not count
	ranked  []float64                   // what kinds are ranked by
}

// Balance configures the strategy `balance`.
type Balance struct {
	// Threshold is the part of the cluster, 0 to 1, from which on every agent
	// is read for the best instead of the first that is good.
	Threshold float64
	// Weights are the kinds that count and how much, in any unit; nil: cpus, mem
	// and every device class alike.
	Weights map[string]float64
	// From are the sources that are averaged; none is all of them.
	From []WeightSource
	// Patience is how long a demand may have waited for others to be preferred.
	Patience time.Duration
}

// DefaultBalance is what a matcher uses that was told nothing else.
func DefaultBalance() *Balance { return &Balance{Threshold: 0.5, Patience: time.Minute} }

// WeightSource says what the weights of `balance` are made from.
type WeightSource string

// The sources of weights.
const (
	FromInitial WeightSource = "initial" // what is configured
	FromPending WeightSource = "pending" // how many demands wait because a kind is short
	FromUsage   WeightSource = "usage"   // how much of a kind is given away in the cluster
)

// WeightSources returns all there are.
func WeightSources() []WeightSource { return []WeightSource{FromInitial, FromPending, FromUsage} }

// Validate names the first field that can't be.
func (b *Balance) Validate() error {
	if !(b.Threshold >= 0 && b.Threshold <= 1) {
		return fmt.Errorf("threshold is %v; 0 to 1", b.Threshold)
	}
	for kind, w := range b.Weights {
		if !(w > 0 && w <= maxWeight) {
			return fmt.Errorf("the weight of %s is %v; more than 0, at most %v", kind, w, maxWeight)
		}
	}
	for i, from := range b.From {
		if !slices.Contains(WeightSources(), from) || slices.Contains(b.From[:i], from) {
			return fmt.Errorf("from has %q, which is none of initial, pending and usage, or there twice", from)
		}
	}
	if b.Patience < 0 {
		return fmt.Errorf("patience is %v; it can't be negative", b.Patience)
	}
	return nil
}

const maxWeight = 1e6

func newBalance(config *Balance) *balance {
	if config == nil {
		config = DefaultBalance()
	}
	b := &balance{config: *config}
	if len(b.config.From) == 0 {
		b.config.From = WeightSources()
	}
	b.score = b.after
	return b
}

func (*balance) prefers() string { return "the agent that it evens out" }

func (b *balance) choose(s *search) *agent {
	b.weigh(s.m)
	if b.utilised(s.m) < b.config.Threshold {
		if a := b.firstEvened(s); a != nil {
			return a
		}
	}
	return s.leastNow(b.score)
}

// firstEvened returns the first agent that the unit makes more even, or nil.
func (b *balance) firstEvened(s *search) *agent {
	all := s.m.bySlot
	for i := range all {
		a := all[(int(s.m.fair.root.count%uint64(len(all)))+i)%len(all)]
		if a != nil && b.evens(s, a) {
			return a
		}
	}
	return nil
}

// evens reports whether the unit suits an agent and makes it more even.
func (b *balance) evens(s *search, a *agent) bool {
	return covers(a.columns, s.d.need) && s.suits(a) && b.after(s, a) < b.before(a)
}

// after returns the square of the agent's y with the latest unit that suited it.
func (b *balance) after(s *search, a *agent) int64 { return b.unevenness(a, s.take) }

// before returns it as the agent is.
func (b *balance) before(a *agent) int64 { return b.unevenness(a, nil) }

// unevenness returns y² in parts of 10^18, at most as many: d and w are
// millionths.
func (b *balance) unevenness(a *agent, take []int64) int64 {
	var sum, parts int64
	for k, w := range b.weights {
		if w > 0 && a.total[k] > 0 {
			sum += a.given(k, take)
			parts++
		}
	}
	mean, y := sum/max(parts, 1), int64(0)
	for k, w := range b.weights {
		if w > 0 && a.total[k] > 0 {
			d := a.given(k, take) - mean
			y += w * d * d
		}
	}
	return y
}

// utilised returns how much of the cluster is given away, on the mean of the
// kinds that count.
func (b *balance) utilised(m *Matcher) float64 {
	sum, parts := 0.0, 0
	for k, w := range b.weights {
		if w > 0 && m.total.n[k] > 0 {
			sum += m.usage(k)
			parts++
		}
	}
	return sum / float64(max(parts, 1))
}

// usage returns how much of a fair kind is given away, offers counted.
func (m *Matcher) usage(kind int) float64 {
	return float64(m.fair.root.alloc.n[kind]) / float64(max(m.total.n[kind], 1))
}

// short returns how many demands wait because a fair kind is short.
func (m *Matcher) short(kind int) float64 {
	name := m.kinds.fairName(kind)
	n := m.parked.pending[name]
	if kind >= scalars {
		n += m.parked.pending[name+offers.SliceSuffix]
	}
	return float64(n)
}

// weigh makes the weights for the present state of the cluster.
func (b *balance) weigh(m *Matcher) {
	if b.kinds != m.kinds {
		b.start(m.kinds)
	}
	clear(b.weights)
	for _, from := range b.config.From {
		switch from {
		case FromInitial:
			for k, w := range b.initial {
				b.weights[k] += w
			}
		case FromPending:
			b.rank(m.short)
		case FromUsage:
			b.rank(m.usage)
		}
	}
	for k := range b.weights {
		b.weights[k] /= int64(len(b.config.From))
	}
}

// start sets the configured weights for the kinds that the cluster knows.
func (b *balance) start(k *kinds) {
	b.kinds = k
	b.initial, b.weights, b.ranked = make([]int64, k.fair()), make([]int64, k.fair()), make([]float64, k.fair())
	configured := b.config.Weights
	if len(configured) == 0 {
		configured = map[string]float64{offers.CPUs.String(): 1, offers.Mem.String(): 1}
		for _, class := range k.classes {
			configured[class] = 1
		}
	}
	sum := 0.0
	for i := range b.initial { // in the order of the kinds, so that it is the same every time
		sum += configured[k.fairName(i)]
	}
	for i := range b.initial {
		if w := configured[k.fairName(i)]; w > 0 {
			b.initial[i] = max(int64(math.Round(w/sum*1e6)), 1)
		}
	}
}

// rank adds the weights of one source: of the kinds that count, by the
// precedence matrix.
func (b *balance) rank(score func(kind int) float64) {
	counting := int64(0)
	for k, w := range b.initial {
		if w > 0 {
			b.ranked[k] = score(k)
			counting++
		}
	}
	for i, w := range b.initial {
		if w == 0 {
			continue
		}
		halves := int64(0) // of the row's sum
		for j, other := range b.initial {
			switch {
			case other == 0 || b.ranked[i] < b.ranked[j]:
			case b.ranked[i] == b.ranked[j]:
				halves++
			default:
				halves += 2
			}
		}
		b.weights[i] += halves * 1e6 / (counting * counting)
	}
}
