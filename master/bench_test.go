package master

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// What the master of BenchmarkPause holds.
const (
	benchAgents = 1_000
	benchTasks  = 100_000
)

// BenchmarkPause reports how long the loop of a durable master with 100,000
// running tasks on 1,000 agents keeps others waiting at most, and how long a
// commit takes at most, beside: nothing, for a second; a snapshot that Raft
// keeps in the data folder, which cuts off a log of 8,192 entries; one that
// GET /v1/snapshot sends to a reader in this process; the picture that
// GET /v1/status draws.
//
//	make bench BENCH=Pause BENCHTIME=10x PACKAGES=./master
func BenchmarkPause(b *testing.B) {
	c, known := loadedFolder(b, benchAgents, benchTasks)
	m := runMaster(b, c)
	<-m.Ready()
	registerAll(b, m.loop, known)
	nothing := func() error { return nil }
	for _, kind := range []struct {
		name          string
		prepare, take func() error
	}{
		{"nothing", nothing, func() error { <-time.After(time.Second); return nil }},
		{"snapshot-kept", func() error { return fillLog(m.replica) }, m.replica.Snapshot},
		{"snapshot-saved", nothing, func() error { return read("http://"+m.Address()+"/v1/snapshot", benchTasks) }},
		{"picture", nothing, func() error { return read("http://"+m.Address()+"/v1/status", 1) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var turns, commits []time.Duration
			for b.Loop() {
				b.StopTimer()
				if err := kind.prepare(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				ctx, end := context.WithCancel(b.Context())
				turned, committed := probeTurns(ctx, m.loop), probeCommits(ctx, m.loop)
				err := kind.take()
				end()
				turns, commits = append(turns, <-turned...), append(commits, <-committed...)
				if err != nil {
					b.Fatal(err)
				}
			}
			reportWaits(b, "turn", turns)
			reportWaits(b, "commit", commits)
		})
	}
}

// BenchmarkTaskPages reports what a master takes to answer for 100,000 tasks,
// page by page.
func BenchmarkTaskPages(b *testing.B) {
	c, known := loadedFolder(b, benchAgents, benchTasks)
	m := runMaster(b, c)
	<-m.Ready()
	registerAll(b, m.loop, known)
	size, pages := 0, 0
	for b.Loop() {
		size, pages = 0, 0
		for next := ""; ; pages++ {
			resp, err := http.Get("http://" + m.Address() + "/v1/tasks?next=" + url.QueryEscape(next))
			if err != nil {
				b.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
				b.Fatal(resp.Status, err)
			}
			size += len(text)
			_, after, more := strings.Cut(string(text[:min(len(text), 200)]), `"next":"`)
			if !more {
				break
			}
			next, _, _ = strings.Cut(after, `"`)
		}
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(pages+1), "pages")
}

func probeTurns(ctx context.Context, l *loop) <-chan []time.Duration {
	return probe(ctx, func() error {
		_, err := ask(ctx, l, func(_ *lead.Core, answer func(struct{}, error)) { answer(struct{}{}, nil) })
		return err
	})
}

func probeCommits(ctx context.Context, l *loop) <-chan []time.Duration {
	return probe(ctx, func() error {
		_, err := l.command(ctx, touch())
		return err
	})
}

// touch is a command that changes little.
func touch() state.Command {
	return state.Command{SetRole: &state.SetRole{Role: "eng", Settings: &offers.RoleSettings{Weight: 2}}}
}

// fillLog writes as many entries as Raft waits for before a snapshot, of the
// size that a few dozen launches have, so that there is a log to cut off.
func fillLog(r *replica.Replica) error {
	batch := make([]state.Command, 100)
	for i := range batch {
		batch[i] = touch()
	}
	var under []*replica.Future
	for range 8192 {
		if len(under) == 256 {
			if _, err := under[0].Wait(); err != nil {
				return err
			}
			under = under[1:]
		}
		under = append(under, r.Apply(0, batch))
	}
	for _, f := range under {
		if _, err := f.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// read reads an answer to its end.
func read(url string, least int64) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < least || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d bytes with status %s: %w", n, resp.Status, err)
	}
	return nil
}

// probe does something every millisecond until ctx ends and returns how long
// each took.
func probe(ctx context.Context, do func() error) <-chan []time.Duration {
	done := make(chan []time.Duration, 1)
	go func() {
		var took []time.Duration
		defer func() { done <- took }()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			begin := time.Now()
			if do() != nil {
				return
			}
			took = append(took, time.Since(begin))
		}
	}()
	return done
}

func reportWaits(b *testing.B, what string, took []time.Duration) {
	b.Helper()
	if len(took) == 0 {
		b.Fatalf("no %s was measured", what)
	}
	slices.Sort(took)
	for name, at := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100, "max": len(took) - 1} {
		b.ReportMetric(float64(took[at].Microseconds())/1000, what+"-"+name+"-ms")
	}
}

// loadedFolder returns the configuration of a master whose data folder holds
// agents with tasks already, and what the agents say when they come back.
func loadedFolder(b *testing.B, agentCount, tasks int) (Config, []*wire.RegisterAgent) {
	b.Helper()
	d, err := door.Open(door.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c := Config{
		Name: "m1", DataDir: b.TempDir(), HTTP: "127.0.0.1:0", Raft: "127.0.0.1:0", BootstrapExpect: 1,
		Version: "test", Door: d, Logger: hclog.NewNullLogger(),
	}
	r, err := replica.Open(replica.Config{Name: c.Name, DataDir: c.DataDir, Listen: c.Raft, HTTP: "127.0.0.1:1", BootstrapExpect: 1, Door: d})
	if err != nil {
		b.Fatal(err)
	}
	<-r.LeadershipChanges()
	batch := []state.Command{{RegisterFramework: &state.RegisterFramework{Name: "f", Role: "eng", FailoverTimeout: time.Hour}}}
	for i := range agentCount {
		batch = append(batch, state.Command{RegisterAgent: &state.RegisterAgent{Agent: offers.Agent{
			Name: fmt.Sprint("agent", i), Total: offers.Inventory{Amounts: offers.Amounts{1_000_000, 1 << 40}},
		}}})
	}
	commit := func() {
		results, err := r.Apply(0, batch).Wait()
		if err != nil {
			b.Fatal(err)
		}
		for _, result := range results {
			if result.Err != nil {
				b.Fatal(result.Err)
			}
		}
		batch = nil
	}
	commit()
	agents, frameworks := slices.Collect(r.State().Agents()), slices.Collect(r.State().Frameworks())
	for i := range tasks {
		resources := offers.Resources{Amounts: offers.Amounts{1000, 1 << 30}}
		batch = append(batch, state.Command{Launch: &state.Launch{Task: state.TaskRecord{
			Framework: frameworks[0].ID, Agent: agents[i%agentCount].ID, Role: "eng", Created: time.Now(),
			Spec: offers.Task{ID: offers.TaskID(fmt.Sprint("t", i)), Name: "load", Resources: resources,
				Command: &offers.Command{Argv: []string{"/bin/sh", "-c", "sleep 1"}, Env: map[string]string{"A": "1"}}},
			Holding: offers.Holding{Amounts: resources.Amounts},
		}}})
		if len(batch) == 1000 {
			commit()
		}
	}
	var back []*wire.RegisterAgent
	for a := range r.State().Agents() {
		m := &wire.RegisterAgent{Agent: a.Agent}
		for t := range r.State().LiveTasksOn(a.ID) {
			m.Tasks = append(m.Tasks, wire.AgentTask{TaskRef: t.Ref(), State: offers.Running, Holding: *t.Holding})
		}
		back = append(back, m)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return c, back
}

// deaf is an agent's connection that nobody reads.
type deaf struct{}

func (deaf) Send(wire.Message, string) {}
func (deaf) End(string)                {}

// registerAll brings every agent back with its tasks, which run.
func registerAll(b *testing.B, l *loop, agents []*wire.RegisterAgent) {
	b.Helper()
	for _, m := range agents {
		l.inbox.enter(func(core *lead.Core) { core.HandleAgent(lead.NewAgent(deaf{}), m, "") })
	}
	for known := 0; known < benchTasks; {
		p, err := l.picture(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		known = p.Reports.Len()
	}
}
