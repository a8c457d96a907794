package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name: "simulate", Category: otherGroup, Usage: "replay a workload on virtual time through the master's own allocator",
		Description: examples(
			"ringmaster simulate --nodes openb_node_list_gpu_node.csv --tasks openb_pod_list_default.csv --placement rings,waste",
			"ringmaster simulate --nodes nodes.csv --tasks tasks.csv --arrivals arrivals.csv --seeds 42-51 --placement waste -o json") +
			"\n\nTasks arrive one at a time on an empty cluster and stay for ever; what does not fit is dropped. It reads the" +
			"\npublic openb traces as they are (sn,cpu_milli,memory_mib,gpu,model and name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec)" +
			"\nor node,cpu_milli,mem_mib,gpus,model and task,cpu_milli,mem_mib,num_gpu,gpu_milli,models. Without --arrivals the" +
			"\norder of each seed is drawn as the authors of openb drew theirs, up to 130 % of the devices.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "nodes", Usage: "CSV `FILE` of the hosts"},
			&cli.StringFlag{Name: "tasks", Usage: "CSV `FILE` of the tasks"},
			&cli.StringFlag{Name: "arrivals", Usage: "CSV `FILE` with a column s42, s43, ... per seed: which task arrives at each step", DefaultText: "drawn by the seed"},
			&cli.StringFlag{Name: "seeds", Usage: "`SEEDS` to run, one run each, such as 42-51 or 1,2,7", Value: "42"},
			&cli.StringFlag{Name: "placement", Usage: "`STRATEGIES` to compare, of " + offers.PlacementNames(), Value: string(offers.Rings)},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json", Value: "table"},
		},
		Action: simulate,
	}
}

func simulate(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	if c.String("nodes") == "" || c.String("tasks") == "" {
		return usagef("simulate needs --nodes FILE and --tasks FILE; see %s --help", c.Command.HelpName)
	}
	if o := c.String("output"); o != "table" && o != "wide" && o != "json" {
		return usagef("-o %s: it is table, wide or json", o)
	}
	placements, err := parsePlacements(c.String("placement"))
	if err != nil {
		return err
	}
	seeds, err := replay.ParseSeeds(c.String("seeds"))
	if err != nil {
		return usagef("--seeds: %w", err)
	}
	w, err := readWorkload(c, seeds)
	if err != nil {
		return err
	}
	results, err := replay.Run(c.Context, w, placements, match.Config{}, nil)
	if err != nil {
		return err
	}
	if c.String("output") == "json" {
		return writeResults(c.App.Writer, results)
	}
	p := newPage(c)
	drawResults(p, results)
	_, err = c.App.Writer.Write(p.text.Bytes())
	return err
}

func parsePlacements(text string) ([]offers.Placement, error) {
	var out []offers.Placement
	for _, name := range fields(text) {
		p := offers.Placement(name)
		if err := p.Validate(); err != nil {
			return nil, usagef("--placement: %w", err)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, usagef("--placement: no strategy is named; give some of %s", offers.PlacementNames())
	}
	return out, nil
}

// readWorkload reads the files that were named and orders them by the seeds.
func readWorkload(c *cli.Context, seeds []int64) (w replay.Workload, err error) {
	if err := withFile(c.String("nodes"), func(name string, r io.Reader) (err error) {
		w.Nodes, err = replay.ReadNodes(name, r)
		return err
	}); err != nil {
		return w, err
	}
	if err := withFile(c.String("tasks"), func(name string, r io.Reader) (err error) {
		w.Tasks, err = replay.ReadTasks(name, r)
		return err
	}); err != nil {
		return w, err
	}
	for _, seed := range seeds {
		w.Orders = append(w.Orders, replay.MakeOrder(seed, w.Nodes, w.Tasks))
	}
	if c.String("arrivals") == "" {
		return w, nil
	}
	return w, withFile(c.String("arrivals"), func(name string, r io.Reader) error {
		given, err := replay.ReadArrivals(name, r, seeds, len(w.Tasks))
		for i := range w.Orders {
			w.Orders[i].Tasks = given[w.Orders[i].Seed]
		}
		return err
	})
}

func withFile(path string, read func(name string, r io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(read(path, f), f.Close())
}

// shownResult is a result as -o json gives it.
type shownResult struct {
	Placement    offers.Placement   `json:"placement"`
	Alloc        map[string]float64 `json:"alloc"`
	FirstRefusal *float64           `json:"first_refusal"` // null: nothing was refused
	Runs         []shownRun         `json:"runs"`
}

type shownRun struct {
	Seed         int64    `json:"seed"`
	FirstRefusal *float64 `json:"first_refusal"`
	Placed       int      `json:"placed"`
	Refused      int      `json:"refused"`
}

func writeResults(out io.Writer, results []replay.Result) error {
	shown := struct {
		Results []shownResult `json:"results"`
	}{}
	for _, r := range results {
		s := shownResult{Placement: r.Placement, Alloc: map[string]float64{}, FirstRefusal: some(r.FirstRefusal)}
		for mark, n := range r.Alloc {
			s.Alloc[strconv.Itoa(mark)] = n
		}
		for _, t := range r.Runs {
			s.Runs = append(s.Runs, shownRun{t.Seed, some(t.FirstRefusal), t.Placed, t.Refused})
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

// drawResults draws the table: how much of the devices is allocated, in %, when
// so many % have been asked for.
func drawResults(p *page, results []replay.Result) {
	heading := row{"PLACEMENT"}
	for _, mark := range replay.Marks {
		heading = append(heading, fmt.Sprintf("AT %d%%", mark))
	}
	var rows []row
	for _, r := range results {
		line := row{string(r.Placement)}
		for _, mark := range replay.Marks {
			text := ""
			if n, reached := r.Alloc[mark]; reached {
				text = fmt.Sprintf("%.2f", n)
			}
			line = append(line, text)
		}
		refusal := "none"
		if r.FirstRefusal > 0 {
			refusal = fmt.Sprintf("%.2f", r.FirstRefusal)
		}
		rows = append(rows, append(line, refusal, seedsText(r.Runs)))
	}
	p.table(append(heading, "FIRST REFUSAL", "+SEEDS"), rows)
}

func seedsText(runs []replay.Tally) string {
	texts := make([]string, len(runs))
	for i, t := range runs {
		texts[i] = strconv.FormatInt(t.Seed, 10)
	}
	return strings.Join(texts, ",")
}
