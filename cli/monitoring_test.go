package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/master"
	"github.com/ringmaster-project/ringmaster/offers/meter"
)

// TestDashboardAndAlertsNameRealMetrics reads every name of ours in the files
// for operators, and wants a master or an agent to have it.
func TestDashboardAndAlertsNameRealMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, m := range slices.Concat(master.Metrics(), agent.Metrics()) {
		known[m.Name] = true
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			known[m.Name+part] = m.Kind == meter.Histogram
		}
	}
	names := regexp.MustCompile(`\bringmaster_[a-z_]+`)
	for _, file := range []string{"../monitoring/dashboard.json", "../monitoring/alerts.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := names.FindAllString(string(content), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d metrics", file, len(found))
		}
		for _, name := range found {
			if !known[name] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(content) {
			t.Errorf("%s is not JSON", file)
		}
	}
}

// TestAlertsAreRules lets Prometheus itself read the rules.
func TestAlertsAreRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not here")
	}
	if out, err := exec.Command(promtool, "check", "rules", "../monitoring/alerts.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
