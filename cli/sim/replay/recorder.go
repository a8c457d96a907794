package replay

import (
	"math"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// recorder measures a run from outside: it keeps books of its own, on which
// every policy is judged alike.
type recorder struct {
	w     *Workload
	warm  time.Duration
	order *Order
	hosts []host
	total amounts
	by    kind // that the workload is measured by
	stays bool // nothing ever ends: not times count, but what has arrived
	loss  losses
	fair  fairness

	at      map[int]spot // by job that runs
	waiting int
	free    amounts

	arrivedAll, placedAll int64 // of the measured kind, ever
	arrived, lost         int64 // of the measured kind, after the warm time
	seen                  map[int]int
	waits                 []time.Duration
	out                   Tally

	due  time.Duration // the next sample, of runs with times
	mark float64       // the next, in % arrived, of runs without
}

// samplesPerRun is how many samples the time of the arrivals has. A run that
// goes on is thinned out whenever it has twice as many.
const samplesPerRun = 150

func newRecorder(w *Workload, order *Order) *recorder {
	r := &recorder{
		w: w, warm: w.warm(), order: order, hosts: newHosts(w.Nodes), total: total(w.Nodes), by: scarce(w.Nodes, w.Tasks), stays: w.Way == Filling,
		at: map[int]spot{}, seen: map[int]int{}, out: Tally{Seed: order.Seed, Alloc: map[int]float64{}},
	}
	r.free = r.total
	r.loss = newLosses(w)
	r.fair = newFairness(order, r.total)
	r.out.Step = max(w.horizon(order)/samplesPerRun, time.Millisecond)
	return r
}

// advance says that it becomes now; nothing has happened since it was last said.
func (r *recorder) advance(now time.Duration) {
	for !r.stays && r.due < now {
		if r.sample(r.due); len(r.out.Samples) == 2*samplesPerRun {
			r.out.thin()
		}
		r.due = r.out.Step * time.Duration(len(r.out.Samples))
	}
}

func (r *recorder) asked(job int) {
	j := &r.order.Jobs[job]
	n := r.w.Tasks[j.Task].amounts()
	r.arrivedAll += n[r.by]
	if j.Arrive >= r.warm {
		r.arrived += n[r.by]
	}
	r.waiting++
	r.fair.wants(j.role(), n, 1)
}

// started notes where a job runs; an error says that it has no room there.
func (r *recorder) started(s started, now time.Duration) error {
	j, h := &r.order.Jobs[s.job], &r.hosts[s.node]
	t := &r.w.Tasks[j.Task]
	n := t.amounts()
	if len(s.devices) != t.GPUs || !t.allows(h.node.Model) {
		return mistake(r.order, s.job, h.node)
	}
	if h.take(t, s.devices); !h.holds() {
		return mistake(r.order, s.job, h.node)
	}
	r.at[s.job] = s.spot
	r.free.add(n, -1)
	r.placedAll += n[r.by]
	r.waiting--
	r.out.Placed++
	r.fair.wants(j.role(), n, -1)
	r.fair.has(j.role(), n, 1)
	if j.Arrive >= r.warm {
		r.waits = append(r.waits, now-j.Arrive)
	}
	return nil
}

func (r *recorder) refused(job int) {
	j := &r.order.Jobs[job]
	n := r.w.Tasks[j.Task].amounts()
	r.waiting--
	r.out.Refused++
	r.fair.wants(j.role(), n, -1)
	if n[r.by] > 0 && r.out.FirstRefusal == 0 {
		r.out.FirstRefusal = r.percent(r.arrivedAll)
	}
	if j.Arrive >= r.warm {
		r.lost += n[r.by]
	}
}

func (r *recorder) ended(job int) {
	j, s := &r.order.Jobs[job], r.at[job]
	t := &r.w.Tasks[j.Task]
	delete(r.at, job)
	r.hosts[s.node].give(t, s.devices)
	r.free.add(t.amounts(), 1)
	r.fair.has(j.role(), t.amounts(), -1)
}

// settled says that what was asked now has got room or waits.
func (r *recorder) settled() {
	if !r.stays {
		return
	}
	arrived := r.percent(r.arrivedAll)
	mark := int(math.Round(arrived))
	r.out.Alloc[mark] += r.percent(r.placedAll)
	r.seen[mark]++
	for r.mark <= arrived {
		r.sample(0)
		r.mark++
	}
}

// percent returns how much that is of all there is of the measured kind.
func (r *recorder) percent(amount int64) float64 {
	return 100 * float64(amount) / float64(max(r.total[r.by], 1))
}

func (r *recorder) sample(at time.Duration) {
	s := Sample{At: at, Arrived: r.mark, Waiting: float64(r.waiting), Unfair: r.fair.off(), Stranded: r.loss.stranded(r.hosts, r.total)}
	for k := range s.Used {
		if r.total[k] > 0 {
			s.Used[k] = 100 * float64(r.total[k]-r.free[k]) / float64(r.total[k])
		}
	}
	for i := range r.hosts {
		for _, free := range r.hosts[i].devices {
			if free == Whole {
				s.Idle++
			}
		}
	}
	r.out.Samples = append(r.out.Samples, s)
}

// tally sums up.
func (r *recorder) tally() Tally {
	t := &r.out
	for mark, n := range r.seen {
		t.Alloc[mark] /= float64(n)
	}
	if r.arrived > 0 {
		t.Lost = 100 * float64(r.lost) / float64(r.arrived)
	}
	t.Waiting = r.waiting
	slices.Sort(r.waits)
	t.WaitP50, t.WaitP99 = quantile(r.waits, 0.50), quantile(r.waits, 0.99)
	measured := t.Samples
	if r.stays {
		measured = measured[max(len(measured)-1, 0):]
	}
	var n float64
	for _, s := range measured {
		if s.At >= r.warm {
			t.Mean.add(s)
			n++
		}
	}
	t.Mean.scale(1 / max(n, 1))
	return *t
}

// quantile returns the smallest of the sorted that is not below a part q of
// them, 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// losses says what of the free amounts is stranded. A host that has not changed
// is not looked at again.
type losses struct {
	shapes []usual // with memory
	asking [kindCount]float64
	known  []lossOf // by host
}

type lossOf struct {
	version uint32
	lost    [kindCount]float64
}

func newLosses(w *Workload) losses {
	l := losses{shapes: frequencies(w.Tasks, true), known: make([]lossOf, len(w.Nodes))}
	for i := range l.shapes {
		for k, n := range l.shapes[i].amounts() {
			if n > 0 {
				l.asking[k] += l.shapes[i].part
			}
		}
	}
	return l
}

// stranded returns by kind, in % of all, what is free but of no use to a task
// that asks for it: on the mean over such tasks of the workload, what is free of
// the kind on nodes where the task does not fit, and on devices that are too
// full for it.
func (l *losses) stranded(hosts []host, all amounts) [kindCount]float64 {
	var sum [kindCount]float64
	for i := range hosts {
		h, known := &hosts[i], &l.known[i]
		if known.version != h.version {
			*known = lossOf{h.version, l.lost(h)}
		}
		for k := range sum {
			sum[k] += known.lost[k]
		}
	}
	for k := range sum {
		if sum[k] > 0 {
			sum[k] *= 100 / float64(all[k])
		}
	}
	return sum
}

// lost returns what a host adds, by kind.
func (l *losses) lost(h *host) [kindCount]float64 {
	var sum [kindCount]float64
	free := h.amounts()
	for i := range l.shapes {
		u := &l.shapes[i]
		fits, asked := h.fits(&u.Task), u.amounts()
		for k := range sum {
			switch {
			case asked[k] == 0 || free[k] == 0:
			case kind(k) == gpu:
				sum[k] += u.part / l.asking[k] * float64(h.lost(&u.Task))
			case !fits:
				sum[k] += u.part / l.asking[k] * float64(free[k])
			}
		}
	}
	return sum
}

// fairness compares what roles have with what they would have under weighted
// fair shares.
type fairness struct {
	roles []offers.Role
	used  []amounts // by role
	asked []amounts // by role, beyond that
	total amounts
}

func newFairness(order *Order, all amounts) fairness {
	f := fairness{roles: rolesOf(order.Jobs), total: all}
	f.used, f.asked = make([]amounts, len(f.roles)), make([]amounts, len(f.roles))
	return f
}

func (f *fairness) wants(role offers.Role, n amounts, sign int64) {
	f.asked[slices.Index(f.roles, role)].add(n, sign)
}

func (f *fairness) has(role offers.Role, n amounts, sign int64) {
	f.used[slices.Index(f.roles, role)].add(n, sign)
}

// off returns how far the roles are from fair, in % of the cluster: half the sum
// of what their dominant shares differ from those that they would have if as
// much were dealt out as is, to the poorest first and to nobody more than it asks.
func (f *fairness) off() float64 {
	if len(f.roles) < 2 {
		return 0
	}
	shares, wanted := make([]float64, len(f.roles)), make([]float64, len(f.roles))
	var sum float64
	for i := range f.roles {
		all := f.used[i]
		all.add(f.asked[i], 1)
		shares[i], wanted[i] = dominantShare(f.used[i], f.total), dominantShare(all, f.total)
		sum += shares[i]
	}
	var differs float64
	for i, fair := range deal(sum, wanted) {
		differs += math.Abs(shares[i] - fair)
	}
	return 100 * differs / 2
}

func dominantShare(n, all amounts) float64 {
	share := 0.0
	for k := range n {
		share = max(share, float64(n[k])/float64(max(all[k], 1)))
	}
	return share
}

// deal shares out a sum: everyone gets the same, but nobody more than wanted.
func deal(sum float64, wanted []float64) []float64 {
	out := make([]float64, len(wanted))
	order := make([]int, len(wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case wanted[a] < wanted[b]:
			return -1
		case wanted[a] > wanted[b]:
			return 1
		}
		return 0
	})
	for n, i := range order {
		out[i] = min(wanted[i], sum/float64(len(order)-n))
		sum -= out[i]
	}
	return out
}
