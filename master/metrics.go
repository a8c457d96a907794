package master

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// scrapeTimeout bounds how long a scrape waits for the loop.
const scrapeTimeout = 5 * time.Second

// exporter turns the present picture into metrics when it is asked, so that
// nothing is counted twice and nothing on the hot path. Only a leader has
// more to tell than that it is none.
type exporter struct {
	api *api

	leader, term, agents, frameworks, tasks, offers *prometheus.Desc
	decisions, pending, mismatches                  *prometheus.Desc
	prematched, lists                               *prometheus.Desc
	total, used, offered, rings, devices            *prometheus.Desc
	readers, gaps, dropped                          *prometheus.Desc
	unsent                                          *prometheus.Desc
	spans                                           *prometheus.Desc
	last, committed, applied, silence               *prometheus.Desc
}

var _ prometheus.Collector = (*exporter)(nil)

func newRegistry(a *api) *prometheus.Registry {
	r := prometheus.NewRegistry()
	a.meters.register(r)
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newExporter(a, new(meter.List)),
	)
	return r
}

// Metrics returns those of a master, in the order of the alphabet, beside what
// Prometheus' library tells of every Go process.
func Metrics() []meter.Metric {
	var list meter.List
	newMeters(&list)
	newExporter(nil, &list)
	slices.SortFunc(list, func(a, b meter.Metric) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func newExporter(a *api, list *meter.List) *exporter {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return list.Desc(meter.Gauge, name, help, labels...)
	}
	counter := func(name, help string, labels ...string) *prometheus.Desc {
		return list.Desc(meter.Counter, name, help, labels...)
	}
	return &exporter{
		api:        a,
		leader:     gauge("leader", "1 on the master that leads, 0 on the others."),
		term:       gauge("term", "Raft's current term."),
		agents:     gauge("agents", "Agents by state.", "state"),
		frameworks: gauge("frameworks", "Frameworks that are not removed, by whether they are connected.", "connected"),
		tasks:      gauge("tasks", "Tasks by state; ended ones as far as they are remembered.", "state"),
		offers:     counter("offers_total", "Offers since this leader's term began, by what became of them; issued counts all.", "outcome"),
		decisions:  counter("decisions_total", "Searches for an agent since this leader's term began.", "placement"),
		pending:    gauge("pending", "Waiting demands by the kind that stops them.", "kind"),
		mismatches: counter("device_mismatches_total", "Times since this leader's term began that an agent had bound, or used, other devices than it was counted on."),
		prematched: counter("prematched_total", "Of those searches the ones for which agents had been read beforehand, by who had read them and whether the best of them had changed since.", "source", "changed"),
		lists:      counter("follower_lists_total", "Lists of agents that followers were asked for since this leader's term began, by what became of them; asked counts all, used those that some search was made by, late those that came when too much had changed.", "outcome"),
		total:      gauge("resource_total", "What the reachable agents have: cpus in cores, bandwidth in bits per second, all else in bytes.", "kind"),
		used:       gauge("resource_used", "What tasks hold of it.", "kind"),
		offered:    gauge("resource_offered", "What outstanding offers hold of it.", "kind"),
		rings:      gauge("ring_agents", "Agents in each ring, by its resource and its index from 1.", "resource", "ring"),
		devices:    gauge("devices", "Devices of the reachable agents by class, and whether they can be used.", "class", "well"),
		last:       gauge("raft_last_index", "The last entry of this master's Raft log."),
		applied:    gauge("raft_applied_index", "The last entry that this master has applied."),
		committed:  gauge("raft_commit_index", "The last entry that this master knows to be on a majority of disks."),
		silence:    gauge("raft_leader_silence_seconds", "How long ago this master heard its leader; 0 on the leader."),
		spans:      counter("spans_total", "Spans of traces by what became of them: delivered to the collector, failed there, dropped because too many waited.", "outcome"),
		unsent:     gauge("unsent_bytes", "Bytes that wait to be sent to frameworks and agents, or are being sent. Connections with most of them are closed before there are 512 MiB."),
		readers:    gauge("event_readers", "Who reads GET /v1/events here."),
		gaps:       counter("event_gaps_total", "Gaps that readers of events were told of."),
		dropped:    counter("event_drops_total", "Events that readers missed because they were too slow."),
	}
}

// Describe implements [prometheus.Collector].
func (e *exporter) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		e.leader, e.term, e.agents, e.frameworks, e.tasks, e.offers, e.decisions, e.pending, e.mismatches, e.prematched, e.lists, e.total, e.used, e.offered,
		e.rings, e.devices, e.last, e.committed, e.applied, e.silence, e.unsent, e.readers, e.gaps, e.dropped, e.spans,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (e *exporter) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	gauge(e.term, float64(e.api.replica.Term()))
	progress := e.api.replica.Progress()
	gauge(e.last, float64(progress.Last))
	gauge(e.committed, float64(progress.Committed))
	gauge(e.applied, float64(progress.Applied))
	gauge(e.silence, progress.Silence.Seconds())
	gauge(e.unsent, float64(e.api.unsent.Bytes()))
	readers, gaps, dropped := e.api.feed.counts()
	gauge(e.readers, float64(readers))
	out <- prometheus.MustNewConstMetric(e.gaps, prometheus.CounterValue, float64(gaps))
	out <- prometheus.MustNewConstMetric(e.dropped, prometheus.CounterValue, float64(dropped))
	if t := e.api.tracer; t != nil {
		delivered, failed, lost := t.Counts()
		for outcome, n := range map[string]uint64{"delivered": delivered, "failed": failed, "dropped": lost} {
			out <- prometheus.MustNewConstMetric(e.spans, prometheus.CounterValue, float64(n), outcome)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	p, err := e.api.loop.picture(ctx)
	if err != nil {
		gauge(e.leader, 0)
		return
	}
	gauge(e.leader, 1)
	c := p.count()
	for s, n := range c.agents {
		gauge(e.agents, float64(n), string(s))
	}
	for s, n := range c.tasks {
		gauge(e.tasks, float64(n), string(s))
	}
	gauge(e.frameworks, float64(c.connected), strconv.FormatBool(true))
	gauge(e.frameworks, float64(c.disconnected), strconv.FormatBool(false))
	for kind, n := range p.Match.Pending {
		gauge(e.pending, float64(n), kind)
	}
	c.total.each(func(kind string, n float64) { gauge(e.total, n, kind) })
	c.used.each(func(kind string, n float64) { gauge(e.used, n, kind) })
	c.offered.each(func(kind string, n float64) { gauge(e.offered, n, kind) })
	for _, set := range p.Match.Rings {
		for _, ring := range set.Rings {
			gauge(e.rings, float64(len(ring.Agents)), set.Name, strconv.Itoa(ring.Index))
		}
	}
	for class, n := range p.countDevices() {
		gauge(e.devices, float64(n.well), class, strconv.FormatBool(true))
		gauge(e.devices, float64(n.unwell), class, strconv.FormatBool(false))
	}
	e.counters(p, out)
}

func (e *exporter) counters(p *picture, out chan<- prometheus.Metric) {
	c := p.Match.Counters
	for outcome, n := range map[string]uint64{
		"issued": c.Issued, "accepted": c.Accepted, "declined": c.Declined, "rescinded": c.Rescinded, "expired": c.Expired,
	} {
		out <- prometheus.MustNewConstMetric(e.offers, prometheus.CounterValue, float64(n), outcome)
	}
	for _, p := range []struct {
		source          string
		all, conflicted uint64
	}{{"leader", c.Prematched - c.Afar, c.Conflicts - c.AfarConflicts}, {"follower", c.Afar, c.AfarConflicts}} {
		out <- prometheus.MustNewConstMetric(e.prematched, prometheus.CounterValue, float64(p.all-p.conflicted), p.source, "false")
		out <- prometheus.MustNewConstMetric(e.prematched, prometheus.CounterValue, float64(p.conflicted), p.source, "true")
	}
	for outcome, n := range map[string]uint64{"asked": c.AfarAsked, "used": c.AfarUsed, "late": c.AfarLate} {
		out <- prometheus.MustNewConstMetric(e.lists, prometheus.CounterValue, float64(n), outcome)
	}
	out <- prometheus.MustNewConstMetric(e.mismatches, prometheus.CounterValue, float64(c.Mismatches))
	for placement, n := range p.Match.Searches {
		out <- prometheus.MustNewConstMetric(e.decisions, prometheus.CounterValue, float64(n), string(placement))
	}
}
