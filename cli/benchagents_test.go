package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/cli"
	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestBenchAgents runs tasks on simulated agents of a real master.
func TestBenchAgents(t *testing.T) {
	c := newCluster(t, 1, 0)
	ctx, end := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errOut bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(ctx, []string{"ringmaster", "bench", "agents", "--count", "20", "--resources", "cpus=2",
			"--task-time", "10ms", "--masters", c.http[0]}, strings.NewReader(""), in, &errOut)
		in.Close()
	}()
	ready := make([]byte, len("ready 20 agents\n"))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready 20 agents\n" {
		t.Fatalf("%q, %v", ready, err)
	}
	client, err := framework.Connect(ctx, framework.Config{Masters: c.http, Info: wire.FrameworkInfo{Name: "batch"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var tasks []offers.Task
	for n := range 100 { // more than run at once
		tasks = append(tasks, offers.Task{
			ID: offers.TaskID(fmt.Sprintf("t%d", n)), Command: &offers.Command{Argv: []string{"true"}},
			Resources: offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000}},
		})
	}
	results, err := framework.RunBatch(ctx, client, tasks, framework.BatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status.State != offers.Finished {
			t.Errorf("%+v", r)
		}
	}
	end()
	rest, err := io.ReadAll(out)
	if err != nil || string(rest) != "tasks started: 100, ended: 100\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if n := <-code; n != 0 {
		t.Errorf("exit code %d: %s", n, &errOut)
	}
}
