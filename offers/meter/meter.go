package meter

import "github.com/prometheus/client_golang/prometheus"

// Kind is what a metric is to Prometheus.
type Kind string

// The kinds that there are here.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// prefix is that of all metrics.
const prefix = "ringmaster_"

// Metric is one that a daemon exports.
type Metric struct {
	Name   string // whole
	Kind   Kind
	Help   string
	Labels []string
}

// List is what a daemon exports, in the order of its declaration. It is not
// safe for concurrent use.
type List []Metric

// Declare enters a metric under its name without the prefix, and returns the
// options that make it.
func (l *List) Declare(kind Kind, name, help string, labels ...string) prometheus.Opts {
	*l = append(*l, Metric{Name: prefix + name, Kind: kind, Help: help, Labels: labels})
	return prometheus.Opts{Name: prefix + name, Help: help}
}

// Desc enters a metric whose values are made when they are asked for.
func (l *List) Desc(kind Kind, name, help string, labels ...string) *prometheus.Desc {
	o := l.Declare(kind, name, help, labels...)
	return prometheus.NewDesc(o.Name, o.Help, labels, nil)
}

// Histogram enters a histogram with the upper bounds of its buckets.
func (l *List) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	o := l.Declare(Histogram, name, help)
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: o.Name, Help: o.Help, Buckets: buckets})
}
