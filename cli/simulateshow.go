package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
)

// shownResult is a result as -o json gives it: means over the seeds.
type shownResult struct {
	Placement    replay.Policy      `json:"placement"`
	Alloc        map[string]float64 `json:"alloc"`         // % of the measured kind, by % arrived; empty where tasks end
	FirstRefusal *float64           `json:"first_refusal"` // null: nothing was refused
	Lost         float64            `json:"lost"`          // % of what was asked
	LostSpread   float64            `json:"lost_spread"`   // standard deviation between the seeds
	IdleDevices  float64            `json:"idle_devices"`
	Used         map[string]float64 `json:"used"`     // % by kind
	Stranded     map[string]float64 `json:"stranded"` // % by kind
	Waiting      shownWaiting       `json:"waiting_seconds"`
	Unfair       float64            `json:"fair_share_error"` // % of the cluster
	Runs         []shownRun         `json:"runs"`
}

type shownWaiting struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

type shownRun struct {
	Seed         int64    `json:"seed"`
	FirstRefusal *float64 `json:"first_refusal"`
	Lost         float64  `json:"lost"`
	Placed       int      `json:"placed"`
	Refused      int      `json:"refused"`
	Waiting      int      `json:"waiting"` // at the end
}

func writeResults(out io.Writer, w replay.Workload, results []replay.Result) error {
	shown := struct {
		Measured string        `json:"measured"` // kind that alloc, lost and first_refusal are of
		Results  []shownResult `json:"results"`
	}{Measured: w.Measured()}
	for _, r := range results {
		s := shownResult{
			Placement: r.Policy, Alloc: map[string]float64{}, FirstRefusal: some(r.FirstRefusal), Lost: r.Lost, LostSpread: r.LostSpread,
			IdleDevices: r.Mean.Idle, Used: map[string]float64{}, Stranded: map[string]float64{},
			Waiting: shownWaiting{r.WaitP50.Seconds(), r.WaitP99.Seconds()}, Unfair: r.Mean.Unfair,
		}
		for mark, n := range r.Alloc {
			s.Alloc[strconv.Itoa(mark)] = n
		}
		for k, name := range replay.Kinds {
			s.Used[name], s.Stranded[name] = r.Mean.Used[k], r.Mean.Stranded[k]
		}
		for _, t := range r.Runs {
			s.Runs = append(s.Runs, shownRun{t.Seed, some(t.FirstRefusal), t.Lost, t.Placed, t.Refused, t.Waiting})
		}
		shown.Results = append(shown.Results, s)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(shown)
}

// some returns n, or nil for nothing.
func some(n float64) *float64 {
	if n == 0 {
		return nil
	}
	return &n
}

// drawResults draws two tables: what was placed, and what became of the rest.
func drawResults(p *page, w replay.Workload, results []replay.Result) {
	p.printf("%s\n\n", w.Describe())
	var heading row
	var line func(*replay.Result) row
	switch w.Way {
	case replay.Filling:
		heading, line = allocTable()
	case replay.Churn:
		heading, line = row{"LOST %", "SPREAD", "PLACED", "REFUSED"}, func(r *replay.Result) row {
			placed, refused := 0, 0
			for _, t := range r.Runs {
				placed, refused = placed+t.Placed, refused+t.Refused
			}
			return row{points(r.Lost), "±" + points(r.LostSpread), grouped(placed), grouped(refused)}
		}
	default:
		heading, line = row{"WAIT P50", "WAIT P99", "UNFAIR %", "NEVER"}, func(r *replay.Result) row {
			never := 0
			for _, t := range r.Runs {
				never += t.Waiting
			}
			return row{waited(r.WaitP50), waited(r.WaitP99), points(r.Mean.Unfair), strconv.Itoa(never)}
		}
	}
	drawPolicies(p, results, append(heading, "+SEEDS"), func(r *replay.Result) row { return append(line(r), seedsText(r.Runs)) })
	p.printf("\n%s\n\n", w.DescribeRest())
	kinds := w.Present()
	heading = nil
	for _, word := range []string{"USED ", "STRANDED "} {
		for _, k := range kinds {
			heading = append(heading, word+strings.ToUpper(replay.Kinds[k]))
		}
	}
	drawPolicies(p, results, append(heading, "IDLE GPUS"), func(r *replay.Result) row {
		var line row
		for _, of := range [][len(replay.Kinds)]float64{r.Mean.Used, r.Mean.Stranded} {
			for _, k := range kinds {
				line = append(line, points(of[k]))
			}
		}
		return append(line, fmt.Sprintf("%.0f", r.Mean.Idle))
	})
}

// drawPolicies draws a table with a line for each policy.
func drawPolicies(p *page, results []replay.Result, heading row, line func(*replay.Result) row) {
	var rows []row
	for i := range results {
		rows = append(rows, append(row{string(results[i].Policy)}, line(&results[i])...))
	}
	p.table(append(row{"PLACEMENT"}, heading...), rows)
}

// allocTable tells how much is allocated, in %, when so many % have been asked
// for.
func allocTable() (row, func(*replay.Result) row) {
	var heading row
	for _, mark := range replay.Marks {
		heading = append(heading, fmt.Sprintf("AT %d%%", mark))
	}
	return append(heading, "FIRST REFUSAL"), func(r *replay.Result) row {
		var line row
		for _, mark := range replay.Marks {
			text := ""
			if n, reached := r.Alloc[mark]; reached {
				text = points(n)
			}
			line = append(line, text)
		}
		return append(line, orNone(r.FirstRefusal))
	}
}

func points(n float64) string { return fmt.Sprintf("%.2f", n) }

func orNone(n float64) string {
	if n == 0 {
		return "none"
	}
	return points(n)
}

func seedsText(runs []replay.Tally) string {
	texts := make([]string, len(runs))
	for i, t := range runs {
		texts[i] = strconv.FormatInt(t.Seed, 10)
	}
	return strings.Join(texts, ",")
}

// waited writes a waiting time to the precision at which it matters.
func waited(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}
