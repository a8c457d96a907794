package master

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// gathered returns what the collectors that enter registers have now.
func gathered(t *testing.T, enter func(prometheus.Registerer)) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	enter(r)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// TestMetricsKeepTheConventions holds names, units and help to the rules that
// promtool check metrics has. resource_total is a gauge with the name that was
// promised to users.
func TestMetricsKeepTheConventions(t *testing.T) {
	families, err := newRegistry(newScene(t, "").api).Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "ringmaster_") && p.Metric != "ringmaster_resource_total" {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestMetricsAreDeclaredAsTheyAre compares what a master exports with what it
// declares.
func TestMetricsAreDeclaredAsTheyAre(t *testing.T) {
	families, err := newRegistry(newScene(t, "").api).Gather()
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]meter.Metric{}
	for _, m := range Metrics() {
		declared[m.Name] = m
	}
	seen := 0
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "ringmaster_") {
			continue
		}
		seen++
		m := declared[f.GetName()]
		if kind := strings.ToLower(f.GetType().String()); kind != string(m.Kind) || f.GetHelp() != m.Help {
			t.Errorf("%s is a %s %q, declared as a %q %q", f.GetName(), kind, f.GetHelp(), m.Kind, m.Help)
		}
		for _, l := range f.GetMetric()[0].GetLabel() {
			if !slices.Contains(m.Labels, l.GetName()) {
				t.Errorf("%s has the label %s, declared are %v", f.GetName(), l.GetName(), m.Labels)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d metrics were seen", seen)
	}
}

// TestSpreadCountsManyAtOnce adds what took 1, 2 and 4 s each to bounds of 1 and 3 s.
func TestSpreadCountsManyAtOnce(t *testing.T) {
	s := newSpread(new(meter.List), "seconds", "Help.", []float64{1, 3})
	s.add(0, time.Second)
	s.add(5, 5*time.Second)
	s.add(2, 4*time.Second)
	s.add(1, 4*time.Second)
	h := gathered(t, func(r prometheus.Registerer) { r.MustRegister(s) })[0].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 8 || h.GetSampleSum() != 13 {
		t.Errorf("%d took %v s, want 8 and 13", h.GetSampleCount(), h.GetSampleSum())
	}
	for i, want := range []uint64{5, 7} {
		if b := h.GetBucket()[i]; b.GetCumulativeCount() != want {
			t.Errorf("%d took at most %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
		}
	}
}
