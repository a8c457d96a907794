package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/cli/sim/replay"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
)

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name: "simulate", Category: otherGroup, Usage: "replay a workload on virtual time through the master's own allocator",
		Description: examples(
			"ringmaster simulate --nodes openb_node_list_gpu_node.csv --tasks openb_pod_list_default.csv --placement rings,waste,fgd",
			"ringmaster simulate --nodes nodes.csv --tasks tasks.csv --churn 0.98 --seeds 1-5 --placement waste,fgd --plot churn.svg",
			"ringmaster simulate --nodes nodes.csv --tasks workload.csv --placement rings,waste --plot week.svg",
			"ringmaster simulate --nodes nodes.csv --tasks tasks.csv --arrivals arrivals.csv --seeds 42-51 --placement waste -o json") +
			"\n\nIt reads the public openb traces as they are (sn,cpu_milli,memory_mib,gpu,model and name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec)" +
			"\nor node,cpu_milli,mem_mib,gpus,model and task,cpu_milli,mem_mib,num_gpu,gpu_milli,models. There are three ways to replay:" +
			"\n" +
			"\n  filling   tasks arrive one at a time on an empty cluster and stay for ever; what does not fit is dropped. Without --arrivals" +
			"\n            the order of each seed is drawn as the authors of openb drew theirs, up to 130 % of the devices" +
			"\n  churn     with --churn LOAD tasks come and go, so that LOAD times the cluster is asked for; what does not fit is dropped" +
			"\n  workload  a task file with the columns arrival_ms,duration_ms (and role,priority) tells itself who comes when; what does not" +
			"\n            fit waits, roles share fairly, and within a role the highest priority takes the offer",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "nodes", Usage: "CSV `FILE` of the hosts"},
			&cli.StringFlag{Name: "tasks", Usage: "CSV `FILE` of the tasks"},
			&cli.StringFlag{Name: "arrivals", Usage: "CSV `FILE` with a column s42, s43, ... per seed: which task arrives at each step", DefaultText: "drawn by the seed"},
			&cli.Float64Flag{Name: "churn", Usage: "let tasks come and go at this `LOAD`, from 0.1 to 10", DefaultText: "they stay"},
			&cli.StringFlag{Name: "seeds", Usage: "`SEEDS` to run, one run each, such as 42-51 or 1,2,7", Value: "42"},
			&cli.StringFlag{Name: "placement", Usage: "`STRATEGIES` to compare, of " + replay.PolicyNames(), Value: string(offers.Rings)},
			&cli.StringFlag{Name: "plot", Usage: "draw how full and how stranded the cluster gets, as SVG into `FILE`"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide, json or csv (one line per strategy and moment)", Value: "table"},
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
	if o := c.String("output"); !slices.Contains([]string{"table", "wide", "json", "csv"}, o) {
		return usagef("-o %s: it is table, wide, json or csv", o)
	}
	policies, err := replay.ParsePolicies(fields(c.String("placement")))
	if err != nil {
		return usagef("--placement: %w", err)
	}
	seeds, err := replay.ParseSeeds(c.String("seeds"))
	if err != nil {
		return usagef("--seeds: %w", err)
	}
	w, err := readWorkload(c, seeds)
	if err != nil {
		return err
	}
	if unfit, lack := w.Unfit(); len(unfit) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "ringmaster: %d of %s can run on no node, even an empty one, %s refused at once: first %s:%d: %s: %s\n",
			len(unfit), plural(len(w.Tasks), "task"), isOrAre(len(unfit)), c.String("tasks"), unfit[0].Line, lack.Field, lack)
	}
	bar := newProgress(c.App.ErrWriter, w.Arrivals()*len(policies))
	results, err := replay.Run(c.Context, w, policies, match.Config{}, bar.add)
	bar.end()
	if err != nil {
		return err
	}
	if path := c.String("plot"); path != "" {
		if err := writeFile(path, func(out io.Writer) error { return replay.Plot(out, w, results) }); err != nil {
			return err
		}
	}
	switch c.String("output") {
	case "json":
		return writeResults(c.App.Writer, w, results)
	case "csv":
		return replay.WriteSamples(c.App.Writer, results)
	}
	p := newPage(c)
	drawResults(p, w, results)
	_, err = c.App.Writer.Write(p.text.Bytes())
	return err
}

// readWorkload reads the files that were named and orders them by the seeds.
func readWorkload(c *cli.Context, seeds []int64) (w replay.Workload, err error) {
	if err := withFile(c.String("nodes"), func(name string, r io.Reader) (err error) {
		w.Nodes, err = replay.ReadNodes(name, r)
		return err
	}); err != nil {
		return w, err
	}
	var jobs []replay.Job
	if err := withFile(c.String("tasks"), func(name string, r io.Reader) (err error) {
		w.Tasks, jobs, err = replay.ReadTasks(name, r, w.Nodes)
		return err
	}); err != nil {
		return w, err
	}
	load, arrivals := c.Float64("churn"), c.String("arrivals")
	switch {
	case c.IsSet("churn") && arrivals != "":
		return w, usagef("--churn draws arrivals itself; leave --arrivals away")
	case c.IsSet("churn") && !(load >= 0.1 && load <= 10):
		return w, usagef("--churn %v: it is a load from 0.1 to 10, such as 0.98", load)
	case c.IsSet("churn"):
		w.SetChurn(seeds, load)
	case jobs != nil && arrivals != "":
		return w, usagef("%s tells itself when tasks arrive; leave --arrivals away", c.String("tasks"))
	case jobs != nil:
		w.SetJobs(seeds, jobs)
	default:
		w.SetFilling(seeds)
	}
	if arrivals == "" {
		return w, nil
	}
	return w, withFile(arrivals, func(name string, r io.Reader) error {
		given, err := replay.ReadArrivals(name, r, seeds, len(w.Tasks))
		for i := range w.Orders {
			w.Orders[i].Jobs = given[w.Orders[i].Seed]
		}
		return err
	})
}

func isOrAre(n int) string {
	if n == 1 {
		return "and is"
	}
	return "and are"
}

func withFile(path string, read func(name string, r io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(read(path, f), f.Close())
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return errors.Join(write(f), f.Close())
}
