package framework_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// dialer connects clients to cluster in memory.
func dialer(cluster *frameworktest.Cluster) func(context.Context, string) (wire.Link, error) {
	return func(context.Context, string) (wire.Link, error) {
		ours, theirs := wire.Pipe(wire.Options{})
		go func() {
			cluster.Serve(theirs)
			theirs.Close("broken")
		}()
		return ours, nil
	}
}

func batchClient(t *testing.T, cluster *frameworktest.Cluster) *framework.Client {
	t.Helper()
	c, err := framework.Connect(context.Background(), framework.Config{Masters: []string{"m:1"}, Dial: dialer(cluster)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mixed(n int) []offers.Task {
	tasks := framework.Repeat(task("t"), n)
	for i := range tasks {
		if i%3 == 0 {
			tasks[i].Resources = offers.Resources{Amounts: offers.Amounts{offers.CPUs: 500}}
		}
	}
	return tasks
}

// TestBatchLosesAndDoublesNothing breaks connections at random before and
// after the masters deal with a message, and counts what ran.
func TestBatchLosesAndDoublesNothing(t *testing.T) {
	breaks := 0
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			dice := rand.New(rand.NewPCG(seed, 1))
			cluster := &frameworktest.Cluster{Units: 1 + int(seed%5)}
			cluster.Break = func(wire.Message, bool) bool {
				mu.Lock()
				defer mu.Unlock()
				broken := dice.IntN(60) == 0
				if broken {
					breaks++
				}
				return broken
			}
			c := batchClient(t, cluster)
			tasks := mixed(80)
			results, err := framework.RunBatch(context.Background(), c, tasks, framework.BatchOptions{})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			runs := cluster.Runs()
			for i, r := range results {
				if !r.Finished() || runs[r.Task] != 1 {
					t.Errorf("seed %d: %s ended %q after %d attempts, the last ran %d times", seed, tasks[i].ID, r.Status.State, r.Attempts, runs[r.Task])
				}
			}
			if len(runs) != len(tasks) {
				t.Errorf("seed %d: %d launches of %d tasks", seed, len(runs), len(tasks))
			}
			c.Close()
		})
	}
	if breaks < 100 {
		t.Errorf("only %d connections were broken", breaks)
	}
}

func TestBatchRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[string]int{}
		one := 1
		cluster := &frameworktest.Cluster{Run: func(task offers.Task) offers.Status {
			tries[task.Name]++
			switch n := tries[task.Name]; {
			case task.Name == "dropped" && n < 5:
				return offers.Status{State: offers.Dropped, Reason: offers.ReasonAgentRefused}
			case task.Name == "flaky" && n < 3, task.Name == "broken":
				return offers.Status{State: offers.Failed, ExitCode: &one}
			case task.Name == "rejected":
				return offers.Status{State: offers.Rejected, Reason: offers.ReasonTooLarge}
			}
			return offers.Status{State: offers.Finished, ExitCode: new(int)}
		}}
		c := batchClient(t, cluster)
		var tasks []offers.Task
		for _, name := range []string{"good", "dropped", "flaky", "broken", "rejected", "flaky.2"} {
			x := task(offers.TaskID(name))
			x.Name = name
			tasks = append(tasks, x)
		}
		seen := 0
		results, err := framework.RunBatch(context.Background(), c, tasks, framework.BatchOptions{
			Retries: 2, OnUpdate: func(framework.BatchUpdate) { seen++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"good finished 1", "dropped.5 finished 5", "flaky.4 finished 3", "broken.3 failed 3", "rejected rejected 1", "flaky.2 finished 1"}
		for i, r := range results {
			if got := fmt.Sprint(r.Task, " ", r.Status.State, " ", r.Attempts); got != want[i] {
				t.Errorf("got %s, want %s", got, want[i])
			}
		}
		synctest.Wait()
		if n := cluster.Unacknowledged(); n != 0 || seen == 0 {
			t.Errorf("%d tasks have updates that nobody acknowledged; %d seen", n, seen)
		}
		c.Close()
	})
}

func TestBatchKillsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &frameworktest.Cluster{Run: func(offers.Task) offers.Status { return offers.Status{State: offers.Running} }}
		c := batchClient(t, cluster)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		results, err := framework.RunBatch(ctx, c, mixed(10), framework.BatchOptions{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		for _, r := range results {
			if r.Status.State != offers.Killed {
				t.Errorf("%s ended %q", r.Task, r.Status.State)
			}
		}
		c.Close()
	})
}

func TestBatchWaitsForKillsInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &frameworktest.Cluster{
			Run:   func(offers.Task) offers.Status { return offers.Status{State: offers.Running} },
			Break: func(m wire.Message, _ bool) bool { return m.Type() == "kill" },
		}
		c := batchClient(t, cluster)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := framework.RunBatch(ctx, c, mixed(4), framework.BatchOptions{KillWait: 10 * time.Second})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 70*time.Second {
			t.Errorf("got %v after %v, want the cause after 1m10s", err, time.Since(start))
		}
		c.Close()
	})
}

func TestBatchRefusesBadTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := batchClient(t, &frameworktest.Cluster{})
		defer c.Close()
		bad := task("t")
		bad.Resources.Amounts[offers.CPUs] = -1
		for _, tasks := range [][]offers.Task{{task("a/b")}, {task("t"), task("t")}, {bad}} {
			if _, err := framework.RunBatch(context.Background(), c, tasks, framework.BatchOptions{}); err == nil {
				t.Errorf("ran %+v", tasks)
			}
		}
	})
}

// TestBatchOverSockets runs a batch on real websockets through a failover.
func TestBatchOverSockets(t *testing.T) {
	old, leader := frameworktest.NewMaster(t), frameworktest.NewMaster(t)
	var accepts int
	cluster := &frameworktest.Cluster{Units: 2}
	cluster.Break = func(m wire.Message, answered bool) bool {
		if _, ok := m.(*wire.Accept); ok && answered {
			accepts++
			if accepts == 3 { // durable, and the answer lost
				old.Refuse(http.StatusServiceUnavailable)
				leader.Serve(cluster.Serve)
				return true
			}
		}
		return false
	}
	old.Serve(cluster.Serve)
	leader.Refuse(http.StatusServiceUnavailable)
	c := <-connect(t, old.Address(), leader.Address())
	defer c.Close()
	results, err := framework.RunBatch(context.Background(), c, mixed(50), framework.BatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !r.Finished() {
			t.Errorf("%+v", r)
		}
	}
	if n := len(cluster.Runs()); n != 50 {
		t.Errorf("%d launches of 50 tasks", n)
	}
}
