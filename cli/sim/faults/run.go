package faults

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
)

// Options of a run. The zero value leaves everything to the seed.
type Options struct {
	Masters    int           // 3 or 5
	Agents     int           // at most 9
	Frameworks int           // at most 9
	Calm       int           // how many times longer it lasts, and less happens
	Time       time.Duration // with faults; 0: a minute or two, times Calm
	Quiet      time.Duration // after the healing; 0: long enough for every timeout
	Pace       time.Duration // about how far faults are apart
	Crashes    float64       // how likely a process dies at a step: 1 is usual, negative never
	CrashAt    int           // a process dies at the n-th point where one may, and at no other; 0: by chance
	Trace      io.Writer     // gets a line for everything that happens; nil: nobody reads

	agentTimeout time.Duration
	offerTimeout time.Duration
	skews        bool          // clocks differ
	tempo        time.Duration // about how far what an author does is apart
	lossy        float64       // how likely a frame is lost or doubled
}

// Report says what a run did.
type Report struct {
	Seed       uint64
	Steps      int           // events that were handled, each followed by the checks
	Faulty     time.Duration // simulated under faults
	Simulated  time.Duration // in all
	Faults     map[string]int
	Points     int // at which a process may have died
	Terms      int // leaderships
	Commits    int // entries
	Reloads    int // of the state, from a snapshot of it
	Fenced     int // proposals and orders of terms that were over
	Refused    int // accepts of offers that were over
	Operations int // of frameworks, for which an order was looked for
	Undecided  int // parts of them where that took too long
	Accepted   int // launches that were committed
	Started    int // tasks that ran
	Hash       uint64
}

// FaultCount is the sum of all kinds.
func (r *Report) FaultCount() int {
	n := 0
	for _, k := range r.Faults {
		n += k
	}
	return n
}

// fill chooses what was left to the seed.
func (o *Options) fill(w *world) {
	if o.Masters == 0 {
		o.Masters = pick(w, []int{3, 3, 5})
	}
	if o.Agents == 0 {
		o.Agents = pick(w, []int{1, 2, 2, 3, 3, 4, 6})
	}
	if o.Frameworks == 0 {
		o.Frameworks = 1 + w.rng.IntN(3)
	}
	// Most runs are short and hectic; what only time brings wants long ones,
	// in which less happens.
	if o.Calm == 0 {
		o.Calm = pick(w, []int{1, 1, 1, 1, 1, 1, 8, 8, 8, 40})
	}
	calm := time.Duration(o.Calm)
	if o.Time == 0 {
		o.Time = calm * w.between(30*time.Second, 2*time.Minute)
	}
	if o.Pace == 0 {
		o.Pace = calm * w.spread(200*time.Millisecond, 6*time.Second)
	}
	o.tempo = calm * w.spread(500*time.Millisecond, 2*time.Second)
	o.lossy = pick(w, []float64{0, 0, 0.01, 0.1})
	if o.Crashes == 0 {
		o.Crashes = pick(w, []float64{0.2, 1, 4})
	}
	o.agentTimeout = w.between(5*time.Second, time.Minute)
	o.offerTimeout = w.spread(time.Second, time.Minute)
	o.skews = w.chance(0.5)
	if o.Quiet == 0 {
		// Every failover timeout, agent timeout and the longest resend.
		o.Quiet = 5 * time.Minute
	}
}

// jump is how far a clock that is set anew differs from the true time.
func (o *Options) jump(w *world) time.Duration {
	if !o.skews {
		return 0
	}
	return w.between(-20*time.Second, 20*time.Second)
}

// Run simulates one cluster from a seed. The error says which promise was
// broken first and when; the same seed and options lead to it again.
func Run(seed uint64, o Options) (report Report, err error) {
	w := &world{options: o, rng: rand.New(rand.NewPCG(seed, 0x72696e67))}
	w.report = Report{Seed: seed, Faults: map[string]int{}, Hash: 14695981039346656037}
	defer func() {
		if p := recover(); p != nil {
			report = w.report
			err = fmt.Errorf("seed %d: %s: panic: %v\n%s", seed, w.now, p, debug.Stack())
		}
	}()
	w.build()
	w.until(w.options.Time)
	w.report.Faulty = w.now
	if w.err == nil {
		w.heal()
		// A deadline set by the clock that is most ahead may be kept by the one
		// that is most behind.
		w.until(w.options.Time + w.options.Quiet + w.ahead - w.early)
	}
	if w.err == nil {
		w.err = w.judge.last()
	}
	if w.err == nil {
		w.err = w.hear()
	}
	w.report.Simulated = w.now
	if w.err != nil {
		return w.report, fmt.Errorf("seed %d: %w", seed, w.err)
	}
	return w.report, nil
}

// build starts everything.
func (w *world) build() {
	w.options.fill(w)
	w.net = &network{w: w, blocked: map[[2]string]int{}, lossy: w.options.lossy}
	w.judge, w.heard = newJudge(w), linear.NewRecorder(epoch)
	w.raft = newConsensus(w)
	for n := range w.options.Masters {
		w.masters = append(w.masters, newMaster(w, n+1))
	}
	w.raft.voters = slices.Clone(w.masters)
	for n := range w.options.Agents {
		w.agents = append(w.agents, newAgent(w, n+1))
	}
	for n := range w.options.Frameworks {
		w.frameworks = append(w.frameworks, newFramework(w, n+1))
	}
	for _, p := range w.processes() {
		p.boot()
	}
	w.raft.watch()
	w.nemesis()
}

// Add adds what another run did.
func (r *Report) Add(o Report) {
	r.Steps += o.Steps
	r.Faulty += o.Faulty
	r.Simulated += o.Simulated
	r.Points += o.Points
	r.Terms += o.Terms
	r.Commits += o.Commits
	r.Reloads += o.Reloads
	r.Fenced += o.Fenced
	r.Refused += o.Refused
	r.Operations += o.Operations
	r.Undecided += o.Undecided
	r.Accepted += o.Accepted
	r.Started += o.Started
	for k, n := range o.Faults {
		r.Faults[k] += n
	}
}

// String writes the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f simulated hours, %.1f of them under faults\n%d steps, %d leaderships, %d entries, %d snapshots read, %d refused for their term, %d accepts of offers that were over, %d launches, %d starts\n%d operations in order (%d parts undecided)\n%d faults\n",
		r.Simulated.Hours(), r.Faulty.Hours(), r.Steps, r.Terms, r.Commits, r.Reloads, r.Fenced, r.Refused, r.Accepted, r.Started, r.Operations, r.Undecided, r.FaultCount())
	for _, k := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "%10d  %s\n", r.Faults[k], k)
	}
	return b.String()
}
