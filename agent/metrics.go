package agent

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// scrapeTimeout bounds how long a scrape waits for the loop.
const scrapeTimeout = 5 * time.Second

// meters count what the machine does not remember, since this process began.
// They are safe for concurrent use.
type meters struct {
	starts        prometheus.Histogram
	commits       prometheus.Histogram
	ended         *prometheus.CounterVec // by state
	registrations prometheus.Counter
}

// newMeters declares into list what it makes.
func newMeters(list *meter.List) *meters {
	return &meters{
		starts: list.Histogram("agent_start_seconds", "Time from the arrival of a launch until its task ran, artifacts and images included.",
			prometheus.ExponentialBuckets(1e-3, 4, 10)),
		commits: list.Histogram("agent_checkpoint_seconds", "Time that one write of the checkpoint took.",
			prometheus.ExponentialBuckets(100e-6, 4, 9)),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts(
			list.Declare(meter.Counter, "agent_tasks_ended_total", "Tasks that ended on this agent, by how.", "state")), []string{"state"}),
		registrations: prometheus.NewCounter(prometheus.CounterOpts(
			list.Declare(meter.Counter, "agent_registrations_total", "Registrations that a master answered; all but the first are reconnections."))),
	}
}

// exporter turns what the machine knows into metrics when it is asked.
type exporter struct {
	agent *Agent

	connected, tasks, capacity, used, well, full, spans *prometheus.Desc
}

var _ prometheus.Collector = (*exporter)(nil)

func newExporter(a *Agent, list *meter.List) *exporter {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return list.Desc(meter.Gauge, name, help, labels...)
	}
	return &exporter{
		agent:     a,
		connected: gauge("agent_connected", "1 while a master has taken this agent's registration."),
		tasks:     gauge("agent_tasks", "Tasks by state; ended ones until that is acknowledged.", "state"),
		capacity:  gauge("agent_device_memory_bytes", "Memory of a device that can be given to tasks.", "class", "device"),
		used:      gauge("agent_device_used_bytes", "Memory of a device that tasks were given.", "class", "device"),
		well:      gauge("agent_device_well", "1 while a device can be used.", "class", "device"),
		full:      gauge("agent_disk_nearly_full", "1 while less than a twentieth of the disk of data_dir, and less than 5 GiB, is free; what ended tasks left goes then."),
		spans:     list.Desc(meter.Counter, "agent_spans_total", "Spans of traces by what became of them: delivered to the collector, failed there, dropped because too many waited.", "outcome"),
	}
}

// Metrics returns those of an agent, in the order of the alphabet, beside what
// Prometheus' library tells of every Go process.
func Metrics() []meter.Metric {
	var list meter.List
	newMeters(&list)
	newExporter(nil, &list)
	slices.SortFunc(list, func(a, b meter.Metric) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Describe implements [prometheus.Collector].
func (e *exporter) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{e.connected, e.tasks, e.capacity, e.used, e.well, e.full, e.spans} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. Of an agent whose loop does not
// answer it tells only that it is not connected, and of its disk.
func (e *exporter) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	if t := e.agent.config.Tracer; t != nil {
		delivered, failed, dropped := t.Counts()
		for outcome, n := range map[string]uint64{"delivered": delivered, "failed": failed, "dropped": dropped} {
			out <- prometheus.MustNewConstMetric(e.spans, prometheus.CounterValue, float64(n), outcome)
		}
	}
	gauge(e.full, number(e.agent.sandboxes.Pressed()))
	v, ok := e.agent.view()
	gauge(e.connected, number(ok && v.connected))
	for state, n := range v.states {
		gauge(e.tasks, float64(n), string(state))
	}
	for _, d := range v.devices {
		gauge(e.capacity, float64(d.Capacity), d.Class, d.ID)
		gauge(e.used, float64(d.Used), d.Class, d.ID)
		gauge(e.well, number(d.Well), d.Class, d.ID)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// view is what the loop knows at one moment.
type view struct {
	connected bool
	states    map[offers.State]int
	devices   []tasks.DeviceUse
}

// view asks the loop; false when it does not answer in time.
func (a *Agent) view() (view, bool) {
	ctx, cancel := context.WithTimeout(a.life, scrapeTimeout)
	defer cancel()
	seen := make(chan view, 1)
	look := func() {
		seen <- view{a.session != nil && a.session.registered, a.machine.States(), a.machine.Devices()}
	}
	select {
	case a.inbox <- look:
	case <-ctx.Done():
		return view{}, false
	}
	select {
	case v := <-seen:
		return v, true
	case <-ctx.Done():
		return view{}, false
	}
}

// metrics serves GET /metrics, out of a registry of our own.
func (a *Agent) metrics() http.HandlerFunc {
	r := prometheus.NewRegistry()
	r.MustRegister(a.meters.starts, a.meters.commits, a.meters.ended, a.meters.registrations, newExporter(a, new(meter.List)),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	serve := promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := a.config.Door.Admit(a.config.Door.Who(r), door.Read, ""); err != nil {
			a.answer(w, err)
			return
		}
		serve.ServeHTTP(w, r)
	}
}

// started takes that a task runs, and how long that took.
func (a *Agent) started(ref offers.TaskRef, now time.Time) {
	a.machine.Started(ref, now)
	if l, running := a.machine.Running(ref); running {
		a.meters.starts.Observe(now.Sub(l.Accepted).Seconds())
	}
}
