package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/cli/load"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

func benchRecoverCommand() *cli.Command {
	return &cli.Command{
		Name: "recover", Usage: "a cluster that is brought to a size, and what the loss of its leader costs then",
		Description: examples(
			"ringmaster bench recover --agents 1000 --frameworks 10 --tasks 1000000",
			"ringmaster bench recover --agents 10000 --frameworks 1000 --tasks 20000 --repeats 3",
			"ringmaster bench recover --agents 1000 --frameworks 10 --tasks 100000 --masters-count 3 -o json") +
			"\n\nThe masters are started for it, durable, in a temporary folder (TMPDIR says where), simulated agents are one more" +
			"\nprocess, and the frameworks run in this one. Once all tasks run, which they do to the end, a snapshot is saved and" +
			"\nsynced. Then the leader is killed with SIGKILL and started again, --repeats times, each time until all frameworks" +
			"\nand agents are registered again and each framework has had one more task run. Times count from the kill; longest" +
			"\nturns are of the leader's loop, for which everybody waits, as far as its metrics tell.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "agents", Usage: "`NUMBER` of simulated agents", Value: 1000},
			&cli.IntFlag{Name: "frameworks", Usage: "`NUMBER` of frameworks", Value: 10},
			&cli.IntFlag{Name: "tasks", Usage: "`NUMBER` of tasks in all", Value: 10_000},
			&cli.IntFlag{Name: "masters-count", Usage: "`NUMBER` of masters to start: 1, 3 or 5", Value: 1},
			&cli.StringFlag{Name: "resources", Usage: "`AMOUNTS` that each agent offers; what is not named is none", Value: "cpus=128,mem=1TiB,disk=1TiB"},
			&cli.StringFlag{Name: "cpus", Usage: "`CORES` of each task", Value: "0.1"},
			&cli.StringFlag{Name: "mem", Usage: "`SIZE` of each task's memory", Value: "128MiB"},
			&cli.IntFlag{Name: "repeats", Usage: "`NUMBER` of kills", Value: 1},
			&cli.StringFlag{Name: "timeout", Usage: "`TIME` after which it is given up", Value: "10m"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM`: table, wide or json", Value: "table"},
		},
		Action: benchRecover,
	}
}

// forever is for how long tasks run that stay.
const forever = 1000 * time.Hour

// recovery is what bench recover was asked for.
type recovery struct {
	agents, frameworks, masters int
	fleet                       []string // arguments of bench agents
	repeats                     int
	timeout                     time.Duration
	plan                        load.Plan
	door                        *door.Door
}

func benchRecover(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	if err := wantForm(c); err != nil {
		return err
	}
	r, err := readRecovery(c)
	if err != nil {
		return err
	}
	found, err := r.run(c.Context)
	if err != nil {
		return errors.Join(c.Context.Err(), err)
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return err
	}
	text, err := present(c, sight{raw: raw, draw: func(p *page) error { found.draw(p); return nil }}, nil)
	if err == nil {
		_, err = c.App.Writer.Write(text)
	}
	return err
}

func readRecovery(c *cli.Context) (*recovery, error) {
	r := &recovery{agents: c.Int("agents"), frameworks: c.Int("frameworks"), masters: c.Int("masters-count"), repeats: c.Int("repeats")}
	var err error
	if r.timeout, err = benchBounds(c); err != nil {
		return nil, err
	}
	if r.door, err = door.Open(door.Config{}); err != nil {
		return nil, err
	}
	unit, err := readAmounts(c)
	if err != nil {
		return nil, usageError{err}
	}
	if r.plan, err = load.Batch(r.frameworks, c.Int("tasks"), unit); err != nil {
		return nil, usagef("--tasks: %w", err)
	}
	r.fleet = fleetArgs(r.agents, c.String("resources"), forever)
	return r, checkFleet(c, c.String("resources"), forever, r.door)
}

// run brings a cluster to its size, has its leader fail, and ends all of it.
func (r *recovery) run(ctx context.Context) (out recoveryShown, err error) {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("the time is up (--timeout %v)", r.timeout))
	defer cancel()
	cluster, err := openBenchCluster(broken)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	if err := cluster.startMasters(ctx, r.masters); err != nil {
		return out, err
	}
	if err := cluster.startAgents(ctx, ownEnvironment(), append(r.fleet, "--masters", strings.Join(cluster.masters, ","))...); err != nil {
		return out, err
	}
	l, err := load.Open(ctx, load.Config{Masters: cluster.masters, Door: r.door, Plan: r.plan, Stay: true})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.Leave()) }()
	if _, err := l.Run(ctx); err != nil {
		return out, err
	}
	out = recoveryShown{Agents: r.agents, Frameworks: r.frameworks, Tasks: r.plan.Tasks(), Masters: r.masters}
	if err := cluster.saved(ctx, r.door, &out); err != nil {
		return out, err
	}
	for range r.repeats {
		f, err := cluster.fail(ctx, r.door, l)
		if err != nil {
			return out, err
		}
		out.Failures = append(out.Failures, f)
	}
	return out, nil
}

// saved tells what the leader takes with everything in it, and what a snapshot
// costs.
func (b *benchCluster) saved(ctx context.Context, d *door.Door, out *recoveryShown) error {
	leader, err := b.leader(ctx, d)
	if err != nil {
		return err
	}
	if out.Memory, err = memoryOf(leader); err != nil {
		return err
	}
	before, err := b.turns(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	resp, err := openClient(b.masters, d).Do(ctx, http.MethodGet, "/v1/snapshot", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	file, err := os.Create(filepath.Join(b.folder, "snapshot"))
	if err != nil {
		return err
	}
	defer file.Close() // it was synced
	if out.Snapshot.Bytes, err = io.Copy(file, resp.Body); err == nil {
		err = file.Sync()
	}
	if err != nil {
		return fmt.Errorf("saving a snapshot: %w", err)
	}
	out.Snapshot.Seconds = rounded(time.Since(begin).Seconds(), 3)
	after, err := b.turns(ctx)
	out.Snapshot.LongestTurn = after.longestSince(before)
	return err
}

// fail kills the leader, starts it again and waits until everybody is back.
func (b *benchCluster) fail(ctx context.Context, d *door.Door, l *load.Load) (out failureShown, err error) {
	leader, err := b.leader(ctx, d)
	if err != nil {
		return out, err
	}
	before, err := b.turns(ctx)
	if err != nil {
		return out, err
	}
	agents := b.named("agents")
	select {
	case <-agents.again: // from another time
	default:
	}
	killed, err := b.kill(leader)
	if err != nil {
		return out, err
	}
	type survived struct {
		load.Recovery
		err error
	}
	back := make(chan survived, 1)
	go func() {
		r, err := l.Survive(ctx)
		back <- survived{r, err}
	}()
	since := func(at time.Time) float64 { return rounded(at.Sub(killed).Seconds(), 3) }
	err = b.start(leader.name, leader.env, leader.args...)
	if err == nil {
		err = b.await(ctx)
	}
	out.Serves = since(time.Now())
	if err == nil {
		select {
		case at := <-agents.again:
			out.Agents = since(at)
		case <-ctx.Done():
			err = fmt.Errorf("waiting for the agents: %w", context.Cause(ctx))
		}
	}
	if err != nil {
		<-back // it ends with ctx, or has everybody back
		return out, err
	}
	r := <-back
	if r.err != nil {
		return out, r.err
	}
	latest := func(a, b time.Time) int { return a.Compare(b) }
	out.FirstFramework, out.Frameworks = since(slices.MinFunc(r.Found, latest)), since(slices.MaxFunc(r.Found, latest))
	out.Served = since(slices.MaxFunc(r.Served, latest))
	if leader, err = b.leader(ctx, d); err != nil {
		return out, err
	}
	if out.Memory, err = memoryOf(leader); err != nil {
		return out, err
	}
	after, err := b.turns(ctx)
	delete(before, b.address(b.named(leader.name))) // where it was killed it counts anew
	out.LongestTurn = after.longestSince(before)
	return out, err
}

// leader returns the master that leads.
func (b *benchCluster) leader(ctx context.Context, d *door.Door) (*benchProcess, error) {
	if len(b.masters) == 1 {
		return b.named("m1"), nil
	}
	var list struct{ Masters []struct{ Name, Role string } }
	if err := openClient(b.masters, d).Get(ctx, "/v1/masters", &list); err != nil {
		return nil, err
	}
	for _, m := range list.Masters {
		if m.Role == "leader" {
			return b.named(m.Name), nil
		}
	}
	return nil, errors.New("no master leads")
}

// memoryOf reads what a process has in memory.
func memoryOf(p *benchProcess) (m memoryShown, err error) {
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return m, fmt.Errorf("reading what %s takes: %w", p.name, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return m, fmt.Errorf("reading what %s takes: %w", p.name, err)
	}
	return memoryShown{Now: int64(status.VmRSS), Most: int64(status.VmHWM)}, nil
}

// turns are the turns of masters' loops so far, by address and then by how long
// they took at most, in seconds.
type turns map[string]map[float64]uint64

// turns asks all masters.
func (b *benchCluster) turns(ctx context.Context) (turns, error) {
	out := turns{}
	for _, address := range b.masters {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("the metrics of %s: %w", address, err)
		}
		out[address] = map[float64]uint64{}
		below := uint64(0)
		for _, m := range families["ringmaster_turn_seconds"].GetMetric() {
			for _, bucket := range m.GetHistogram().GetBucket() {
				out[address][bucket.GetUpperBound()] = bucket.GetCumulativeCount() - below
				below = bucket.GetCumulativeCount()
			}
		}
	}
	return out, nil
}

// longestSince returns what no turn since before took longer than, in
// milliseconds: 0 where there was none, -1 where the metrics have no such bound.
func (t turns) longestSince(before turns) float64 {
	longest := 0.0
	for address, counts := range t {
		for bound, n := range counts {
			if n > before[address][bound] {
				longest = max(longest, bound*1000)
			}
		}
	}
	if math.IsInf(longest, 1) {
		return -1
	}
	return longest
}

// address of the HTTP door of a master.
func (b *benchCluster) address(p *benchProcess) string {
	return p.args[slices.Index(p.args, "--http")+1]
}
