package agent_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// scrape returns an agent's own metrics, each value by its labels' values.
func scrape(t *testing.T, h *host) (families map[string]*dto.MetricFamily, values map[string]float64) {
	t.Helper()
	status, text := get(t, h, "/metrics", "")
	if status != 200 {
		t.Fatalf("status %d: %s", status, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "ringmaster_") })
	values = map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			values[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return families, values
}

// TestAgentMetrics runs tasks on an agent and reads what it tells of them, of
// its devices and of its connections.
func TestAgentMetrics(t *testing.T) {
	m, dir := newMaster(t), t.TempDir()
	c := config(t, dir, m)
	c.Resources = "cpus=4,mem=1GiB,disk=1GiB,gpu=2x24GiB"
	h := run(t, c)
	l, _ := m.welcome("a1", 1)
	on := shell("runs", "sleep 1000")
	on.Resources.Devices = map[string]offers.DeviceAsk{"gpu": {Count: 1, Memory: 10 << 30}}
	l.launch(1, shell("good", "true"), shell("bad", "exit 3"), on)
	l.end("good")
	l.end("bad")
	for l.peek("runs").State != offers.Running {
	}
	l.Close("the master goes")
	l, _ = m.welcome("a1", 2)
	for l.peek("runs").State != offers.Running { // it was not acknowledged
	}

	families, values := scrape(t, h)
	if values["ringmaster_agent_device_memory_bytes gpu gpu-0"] != 24<<30 {
		t.Errorf("the devices are not there: %v", values)
	}
	used := values["ringmaster_agent_device_used_bytes gpu gpu-0"] + values["ringmaster_agent_device_used_bytes gpu gpu-1"]
	for name, want := range map[string]float64{
		"ringmaster_agent_connected": 1, "ringmaster_agent_registrations_total": 2,
		"ringmaster_agent_tasks running": 1, "ringmaster_agent_tasks_ended_total finished": 1, "ringmaster_agent_tasks_ended_total failed": 1,
		"ringmaster_agent_start_seconds": 3, "ringmaster_agent_device_well gpu gpu-1": 1,
	} {
		if values[name] != want {
			t.Errorf("%s is %v, want %v", name, values[name], want)
		}
	}
	if used != 10<<30 || values["ringmaster_agent_checkpoint_seconds"] < 3 {
		t.Errorf("%v bytes of devices are used, and the checkpoint was written %v times", used, values["ringmaster_agent_checkpoint_seconds"])
	}

	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(families))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the names break the conventions: %v, %v", problems, err)
	}
	declared := map[string]meter.Metric{}
	for _, m := range agent.Metrics() {
		declared[m.Name] = m
	}
	for name, f := range families {
		d := declared[name]
		if string(d.Kind) != strings.ToLower(f.GetType().String()) || d.Help != f.GetHelp() {
			t.Errorf("%s is a %s %q, declared as a %q %q", name, f.GetType(), f.GetHelp(), d.Kind, d.Help)
		}
	}
}
