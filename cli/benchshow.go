package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/cli/load"
)

// benchShown is a run as -o json gives it.
type benchShown struct {
	Agents     int            `json:"agents"`
	Frameworks int            `json:"frameworks"`
	Tasks      int            `json:"tasks"`
	Warmup     bool           `json:"warmup,omitempty"` // the same load had run before
	Accepted   float64        `json:"accepted_per_second"`
	Running    float64        `json:"running_per_second"`
	Finished   float64        `json:"finished_per_second"`
	Declined   float64        `json:"declined_per_second,omitempty"` // the mix decline alone
	Dropped    int            `json:"dropped,omitempty"`             // launches that were made again
	Latency    latenciesShown `json:"latency_ms"`
	Processes  []processShown `json:"processes"`
	Runs       []benchShown   `json:"runs,omitempty"` // all, where there were several
}

// latenciesShown are null where nothing of the kind happened.
type latenciesShown struct {
	DemandToOffer    *latencyShown `json:"demand_to_offer"`
	AcceptToAccepted *latencyShown `json:"accept_to_accepted"`
	AcceptToRunning  *latencyShown `json:"accept_to_running"`
}

// latencyShown is in milliseconds.
type latencyShown struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

type processShown struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu_seconds"`
	RSS  int64   `json:"rss_bytes"`
}

// figures of r as they are shown.
func (b *benchmark) figures(r benchResult) benchShown {
	return benchShown{
		Agents: b.agents, Frameworks: b.frameworks, Tasks: b.plan.Tasks(), Warmup: b.warmup,
		Accepted: rounded(r.Accepted, 1), Running: rounded(r.Running, 1), Finished: rounded(r.Finished, 1), Declined: rounded(r.Declined, 1),
		Dropped:   r.Dropped,
		Latency:   latenciesShown{inMillis(r.DemandToOffer), inMillis(r.AcceptToAccepted), inMillis(r.AcceptToRunning)},
		Processes: r.processes,
	}
}

func inMillis(l *load.Latency) *latencyShown {
	if l == nil {
		return nil
	}
	ms := func(d time.Duration) float64 { return rounded(float64(d)/float64(time.Millisecond), 3) }
	return &latencyShown{ms(l.P50), ms(l.P99), ms(l.Max)}
}

func rounded(n float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(n*p) / p
}

// pace is what runs are compared by.
func (s *benchShown) pace() float64 { return s.Running + s.Declined }

// show writes the run in the middle, and the spread of all, as it was asked for.
func (b *benchmark) show(c *cli.Context, results []benchResult) ([]byte, error) {
	var runs []benchShown
	for _, r := range results {
		runs = append(runs, b.figures(r))
	}
	middle := load.Middle(runs, func(s benchShown) float64 { return s.pace() })
	whole := middle
	if len(runs) > 1 {
		whole.Runs = runs
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	return present(c, sight{raw: raw, draw: func(p *page) error {
		b.draw(p, middle, runs)
		return nil
	}}, nil)
}

func (b *benchmark) draw(p *page, middle benchShown, runs []benchShown) {
	what := grouped(middle.Tasks) + " tasks"
	if b.mix == mixDecline {
		what = grouped(b.plan.Declines()) + " offers"
	}
	warm := ""
	if b.warmup {
		warm = ", warmed up"
	}
	p.printf("%s, %s agents, %s frameworks, %s, seed %d%s\n\n", b.mix, grouped(b.agents), grouped(b.frameworks), what, b.seed, warm)
	b.drawRates(p, middle, runs)
	if middle.Dropped > 0 {
		p.printf("\n%s launches were dropped and made again.\n", grouped(middle.Dropped))
	}
	p.printf("\n")
	drawLatencies(p, middle.Latency)
	p.printf("\n")
	var rows []row
	for _, o := range middle.Processes {
		each := o.CPU * 1000 / float64(b.plan.Tasks()+b.plan.Declines())
		rows = append(rows, row{o.Name, fmt.Sprintf("%.2fs", o.CPU), fmt.Sprintf("%.3fms", each), size(o.RSS)})
	}
	p.table(row{"PROCESS", "CPU", "FOR EACH", "MEMORY"}, rows)
}

func (b *benchmark) drawRates(p *page, middle benchShown, runs []benchShown) {
	rates := []struct {
		what string
		of   func(benchShown) float64
	}{
		{"accepted", func(s benchShown) float64 { return s.Accepted }},
		{"running", func(s benchShown) float64 { return s.Running }},
		{"finished", func(s benchShown) float64 { return s.Finished }},
	}
	if b.mix == mixDecline {
		rates = rates[:1]
		rates[0].what, rates[0].of = "declined", func(s benchShown) float64 { return s.Declined }
	}
	var rows []row
	for _, r := range rates {
		var all []float64
		for _, s := range runs {
			all = append(all, r.of(s))
		}
		rows = append(rows, row{r.what, perSecond(r.of(middle)), perSecond(slices.Min(all)), perSecond(slices.Max(all))})
	}
	p.table(row{"RATE", "A SECOND", fmt.Sprintf("SLOWEST OF %d", len(runs)), "FASTEST"}, rows)
}

func perSecond(n float64) string { return grouped(int(math.Round(n))) }

func drawLatencies(p *page, l latenciesShown) {
	var rows []row
	for _, one := range []struct {
		what string
		took *latencyShown
	}{{"demand to offer", l.DemandToOffer}, {"accept to accepted", l.AcceptToAccepted}, {"accept to running", l.AcceptToRunning}} {
		if t := one.took; t != nil {
			rows = append(rows, row{one.what, millis(t.P50), millis(t.P99), millis(t.Max)})
		}
	}
	p.table(row{"MILLISECONDS", "P50", "P99", "MAX"}, rows)
}

func millis(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }
