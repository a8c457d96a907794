package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/agent/simulated"
	"github.com/ringmaster-project/ringmaster/cli/load"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// The mixes of bench run.
const (
	mixBatch   = "batch"
	mixJobs    = "jobs"
	mixMulti   = "multi"
	mixDecline = "decline"
)

const (
	maxBenchFrameworks = 10_000
	maxBenchTasks      = 10_000_000
	maxBenchRepeats    = 100
)

func benchRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "a whole load, measured: masters, simulated agents, and frameworks that launch tasks as fast as they may",
		Description: examples(
			"ringmaster bench run --agents 1000 --frameworks 10 --tasks 100000",
			"ringmaster bench run --agents 1000 --frameworks 1000 --tasks 20000 --mix jobs --masters-count 3 --repeats 3",
			"ringmaster bench run --agents 10000 --frameworks 1 --tasks 2000 --mix jobs --rate 100",
			"ringmaster bench run --mix multi -o json") +
			"\n\nThe masters are started for it, durable, in a temporary folder (TMPDIR says where), and are gone afterwards; with" +
			"\n--masters those are measured that are there, and the agents stay known to them as unreachable until they are given" +
			"\nup. Agents are one more process and the frameworks run in this one, so that each is measured alone. A mix is" +
			"\n" +
			"\n  batch     tasks of one size, one job of each framework" +
			"\n  jobs      jobs of one task each, of ten sizes that the seed draws, at most 1,000 of a framework at a time" +
			"\n  multi     the benchmark MultiFramework of Mesos' allocator: 80 agents, 554 frameworks, 19,500 tasks" +
			"\n  decline   no tasks: so many offers of whole agents are declined" +
			"\n" +
			"\nRates are from the first demand to the last task (or offer). Memory is what was resident at most, CPU time that of" +
			"\nthe load alone. With --warmup the same load runs before, until no process needs more memory for it than the time before" +
			"\n(four times at most): processes that have just begun touch theirs for the first time, which a virtual machine may make" +
			"\nslow. With --repeats each run has masters of its own, the table shows the run in the middle by what runs a second, with" +
			"\nthe slowest and fastest, and JSON has all of them as \"runs\".",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "agents", Usage: "`NUMBER` of simulated agents", Value: 1000},
			&cli.IntFlag{Name: "frameworks", Usage: "`NUMBER` of frameworks", Value: 10},
			&cli.IntFlag{Name: "tasks", Usage: "`NUMBER` of tasks in all, or of offers that are declined", Value: 10_000},
			&cli.StringFlag{Name: "mix", Usage: "`MIX` of the load: batch, jobs, multi or decline", Value: mixBatch},
			&cli.IntFlag{Name: "rate", Usage: "`NUMBER` of tasks a second to ask for, evenly; 0: as many as the masters run"},
			&cli.IntFlag{Name: "masters-count", Usage: "`NUMBER` of masters to start: 1, 3 or 5", Value: 1},
			&cli.StringFlag{Name: "resources", Usage: "`AMOUNTS` that each agent offers; what is not named is none", Value: "cpus=16,mem=64GiB,disk=1TiB"},
			&cli.StringFlag{Name: "cpus", Usage: "`CORES` of each task", Value: "0.1"},
			&cli.StringFlag{Name: "mem", Usage: "`SIZE` of each task's memory", Value: "128MiB"},
			&cli.StringFlag{Name: "task-time", Usage: "`TIME` that every task runs for", Value: "1s"},
			&cli.Uint64Flag{Name: "seed", Usage: "`NUMBER` that all that is drawn depends on", Value: 1},
			&cli.BoolFlag{Name: "warmup", Usage: "run the load before it is measured, until it needs no more memory"},
			&cli.IntFlag{Name: "repeats", Usage: "`NUMBER` of runs", Value: 1},
			&cli.StringFlag{Name: "timeout", Usage: "`TIME` after which a run is given up", Value: "10m"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json", Value: "table"},
		}, benchMasterFlags()...),
		Action: benchRun,
	}
}

// benchMasterFlags are those of a client, but that only a flag, and no variable
// that is set for other commands, leads a load to masters that are there.
func benchMasterFlags() []cli.Flag {
	flags := clientFlags()
	masters := flags[0].(*cli.StringFlag)
	masters.Usage, masters.Value, masters.DefaultText, masters.EnvVars = "`HOST:PORT,...` of masters to measure that are there", "", "started for it", nil
	return flags
}

// benchmark is what bench run was asked for.
type benchmark struct {
	mix        string
	agents     int
	frameworks int
	masters    int           // to start
	there      []string      // masters that are there, in place of those
	door       *door.Door    // of those
	fleet      []string      // arguments of bench agents
	seed       uint64        // of what is drawn
	warmup     bool          // the load runs before, see warm
	repeats    int           //
	timeout    time.Duration // of each
	plan       load.Plan
}

func benchRun(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	if err := wantForm(c); err != nil {
		return err
	}
	b, err := readBenchmark(c)
	if err != nil {
		return err
	}
	collectLess(loadRoom)
	var runs []benchResult
	for range b.repeats {
		r, err := b.run(c.Context)
		if err != nil {
			return errors.Join(c.Context.Err(), err)
		}
		runs = append(runs, r)
	}
	text, err := b.show(c, runs)
	if err == nil {
		_, err = c.App.Writer.Write(text)
	}
	return err
}

func readBenchmark(c *cli.Context) (*benchmark, error) {
	b := &benchmark{mix: c.String("mix"), masters: c.Int("masters-count"), seed: c.Uint64("seed"), warmup: c.Bool("warmup"), repeats: c.Int("repeats")}
	if b.mix == mixMulti {
		for _, name := range []string{"agents", "frameworks", "tasks", "resources", "cpus", "mem"} {
			if c.IsSet(name) {
				return nil, usagef("--%s: the mix multi has its own; leave it away", name)
			}
		}
	}
	var err error
	if b.timeout, err = benchBounds(c); err != nil {
		return nil, err
	}
	if n := c.Int("rate"); n < 0 || n > maxBenchTasks {
		return nil, usagef("--rate %d: it is a number from 0 to %d", n, maxBenchTasks)
	}
	if c.Int("rate") > 0 && b.mix == mixDecline {
		return nil, usagef("--rate: the mix decline has no tasks; leave it away")
	}
	if err := b.readMasters(c); err != nil {
		return nil, err
	}
	return b, b.readLoad(c)
}

// benchBounds holds what the benchmarks of whole clusters are asked for to its
// bounds, and returns after how long one is given up.
func benchBounds(c *cli.Context) (time.Duration, error) {
	for _, bound := range []struct {
		flag string
		most int
	}{{"agents", simulated.MaxAgents}, {"frameworks", maxBenchFrameworks}, {"tasks", maxBenchTasks}, {"repeats", maxBenchRepeats}} {
		if n := c.Int(bound.flag); n < 1 || n > bound.most {
			return 0, usagef("--%s %d: it is a number from 1 to %d", bound.flag, n, bound.most)
		}
	}
	if n := c.Int("masters-count"); n != 1 && n != 3 && n != 5 {
		return 0, usagef("--masters-count %d: it is 1, 3 or 5", n)
	}
	timeout, err := durationFlag(c, "timeout")
	if err != nil {
		return 0, err
	}
	if timeout <= 0 {
		return 0, usagef("--timeout %v: it is more than 0", timeout)
	}
	return timeout.Std(), nil
}

// readMasters reads who is measured.
func (b *benchmark) readMasters(c *cli.Context) error {
	if !c.IsSet("masters") {
		open, err := door.Open(door.Config{})
		b.door = open
		return err
	}
	if c.IsSet("masters-count") {
		return usagef("--masters-count: the masters of --masters are measured, none are started; leave it away")
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	b.there, b.door = cl.Masters(), cl.Door()
	for _, name := range []string{"ca", "cert", "key"} {
		if file := c.String(name); file != "" {
			b.fleet = append(b.fleet, "--"+name, file)
		}
	}
	return nil
}

// readLoad reads what the agents have and what the frameworks do.
func (b *benchmark) readLoad(c *cli.Context) (err error) {
	b.agents, b.frameworks = c.Int("agents"), c.Int("frameworks")
	resources, tasks := c.String("resources"), c.Int("tasks")
	unit, err := readAmounts(c)
	if err != nil {
		return usageError{err}
	}
	switch b.mix {
	case mixBatch:
		b.plan, err = load.Batch(b.frameworks, tasks, unit)
	case mixJobs:
		b.plan, err = load.Single(b.frameworks, tasks, unit, b.seed)
	case mixDecline:
		b.plan, err = load.Decline(b.frameworks, tasks, b.agents, unit)
	case mixMulti:
		b.plan = load.MultiFramework(b.seed)
		b.agents, b.frameworks, resources = load.MultiAgents, len(b.plan), load.MultiResources
	default:
		return usagef("--mix %s: it is batch, jobs, multi or decline", b.mix)
	}
	if err != nil {
		return usagef("--tasks: %w", err)
	}
	if rate := c.Int("rate"); rate > 0 {
		b.plan = b.plan.Paced(rate)
	}
	taskTime, err := durationFlag(c, "task-time")
	if err != nil {
		return err
	}
	b.fleet = append(b.fleet, fleetArgs(b.agents, resources, taskTime.Std())...)
	return checkFleet(c, resources, taskTime.Std(), b.door)
}

// fleetArgs are those of bench agents.
func fleetArgs(agents int, resources string, taskTime time.Duration) []string {
	return []string{"--count", fmt.Sprint(agents), "--name", benchAgent, "--resources", resources, "--task-time", taskTime.String()}
}

// checkFleet refuses what the agents will: that should not wait for masters.
func checkFleet(c *cli.Context, resources string, taskTime time.Duration, d *door.Door) error {
	_, err := simulated.Open(simulated.Config{
		Count: 1, Name: benchAgent, Masters: []string{defaultMasters}, Resources: resources, TaskTime: taskTime,
		Door: d, Logger: openLog(&settings{logLevel: "off"}, "bench", c.App.ErrWriter),
	})
	if err != nil {
		return usageError{err}
	}
	return nil
}

// benchAgent is how the agents' names begin.
const benchAgent = "bench"

// benchResult is what one run took.
type benchResult struct {
	load.Summary
	processes []processShown
}

// run starts what is needed, measures one load, and ends all of it, also when
// ctx ends or something fails.
func (b *benchmark) run(ctx context.Context) (r benchResult, err error) {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, b.timeout, fmt.Errorf("the time is up (--timeout %v)", b.timeout))
	defer cancel()
	cluster, err := openBenchCluster(broken)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	env := os.Environ()
	if len(b.there) == 0 {
		if err := cluster.startMasters(ctx, b.masters); err != nil {
			return r, err
		}
		env = ownEnvironment()
	}
	masters := append(b.there, cluster.masters...)
	if err := cluster.startAgents(ctx, env, append(b.fleet, "--masters", strings.Join(masters, ","))...); err != nil {
		return r, err
	}
	conf := load.Config{Masters: masters, Door: b.door, Plan: b.plan}
	leave := (*load.Load).Leave
	if len(b.there) > 0 { // other agents may be there, too
		only, err := offers.ParseConstraint("host==" + simulated.Host)
		if err != nil {
			return r, err
		}
		conf.Constraints = []offers.Constraint{only}
		leave = func(l *load.Load) error { return l.Close(context.WithoutCancel(ctx)) }
	}
	if b.warmup {
		if err := warm(ctx, cluster, conf); err != nil {
			return r, fmt.Errorf("warming up: %w", err)
		}
	}
	l, err := load.Open(ctx, conf)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, leave(l)) }()
	return measure(ctx, cluster, l)
}

// warm runs a load as often as it makes some process larger by a twentieth than it
// was ever before, warmups times at most.
func warm(ctx context.Context, cluster *benchCluster, conf load.Config) error {
	var known []processShown
	for range warmups {
		if err := throughOnce(ctx, conf); err != nil {
			return err
		}
		now, err := cluster.usage()
		if err != nil {
			return err
		}
		if !larger(now, known) {
			return nil
		}
		known = now
	}
	return nil
}

const warmups = 4

// larger reports whether some process is larger than it was by a twentieth.
func larger(now, before []processShown) bool {
	for i, p := range now {
		if i >= len(before) || p.RSS > before[i].RSS+before[i].RSS/20 {
			return true
		}
	}
	return false
}

// throughOnce runs a load to its end and has the masters forget its frameworks.
func throughOnce(ctx context.Context, conf load.Config) error {
	l, err := load.Open(ctx, conf)
	if err != nil {
		return err
	}
	_, err = l.Run(ctx)
	return errors.Join(err, l.Close(context.WithoutCancel(ctx)))
}

// measure runs the load and returns what it and the processes took.
func measure(ctx context.Context, cluster *benchCluster, l *load.Load) (r benchResult, err error) {
	before, err := cluster.usage()
	if err != nil {
		return r, err
	}
	trace, err := l.Run(ctx)
	if err != nil {
		return r, err
	}
	after, err := cluster.usage()
	if err != nil {
		return r, err
	}
	for i := range after {
		after[i].CPU = rounded(after[i].CPU-before[i].CPU, 2)
	}
	return benchResult{trace.Summary(), after}, nil
}
