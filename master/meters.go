package master

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// meters count what no picture shows: how long things take, who is here, what
// was dropped. They count since this process began, and are safe for
// concurrent use.
type meters struct {
	decisions *spread
	turns     prometheus.Histogram
	commits   prometheus.Histogram
	inbox     prometheus.Gauge
	sessions  *prometheus.GaugeVec   // by kind
	slow      *prometheus.CounterVec // by kind
}

// The kinds of sessions, as the metrics name them.
const (
	frameworkSession = "framework"
	agentSession     = "agent"
	followerSession  = "follower"
)

// newMeters declares into list what it makes.
func newMeters(list *meter.List) *meters {
	m := &meters{
		decisions: newSpread(list, "decision_seconds", "Time that one search for an agent took, as the mean of those of its turn.",
			prometheus.ExponentialBuckets(100e-9, 4, 10)),
		turns: list.Histogram("turn_seconds", "Time that the loop of a leader took for one turn: handling what had come, deciding, proposing.",
			[]float64{25e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}),
		commits: list.Histogram("commit_seconds", "Time from proposing an entry to Raft until the leader acted on it.",
			prometheus.ExponentialBuckets(500e-6, 2, 14)),
		inbox: prometheus.NewGauge(prometheus.GaugeOpts(
			list.Declare(meter.Gauge, "inbox", "Messages and requests that waited for the leader's loop when its last turn ended."))),
		sessions: prometheus.NewGaugeVec(prometheus.GaugeOpts(
			list.Declare(meter.Gauge, "sessions", "Websocket connections to this master.", "kind")), []string{"kind"}),
		slow: prometheus.NewCounterVec(prometheus.CounterOpts(
			list.Declare(meter.Counter, "slow_sessions_total", "Connections that were closed because their reader was too slow.", "kind")), []string{"kind"}),
	}
	m.sessions.WithLabelValues(followerSession)
	for _, kind := range []string{frameworkSession, agentSession} {
		m.sessions.WithLabelValues(kind)
		m.slow.WithLabelValues(kind)
	}
	return m
}

func (m *meters) register(r prometheus.Registerer) {
	r.MustRegister(m.decisions, m.turns, m.commits, m.inbox, m.sessions, m.slow)
}

// spread is a histogram that takes many equal values in one step.
type spread struct {
	desc   *prometheus.Desc
	bounds []float64 // upper ones, ascending

	mu     sync.Mutex
	counts []uint64 // by bound, and one for what is above all
	sum    float64
}

var _ prometheus.Collector = (*spread)(nil)

func newSpread(list *meter.List, name, help string, bounds []float64) *spread {
	return &spread{
		desc: list.Desc(meter.Histogram, name, help), bounds: bounds, counts: make([]uint64, len(bounds)+1),
	}
}

// add counts n things that took whole together.
func (s *spread) add(n uint64, whole time.Duration) {
	if n == 0 {
		return
	}
	at, _ := slices.BinarySearch(s.bounds, whole.Seconds()/float64(n))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[at] += n
	s.sum += whole.Seconds()
}

// Describe implements [prometheus.Collector].
func (s *spread) Describe(out chan<- *prometheus.Desc) { out <- s.desc }

// Collect implements [prometheus.Collector].
func (s *spread) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buckets, n := map[float64]uint64{}, uint64(0)
	for i, bound := range s.bounds {
		n += s.counts[i]
		buckets[bound] = n
	}
	out <- prometheus.MustNewConstHistogram(s.desc, n+s.counts[len(s.bounds)], s.sum, buckets)
}
