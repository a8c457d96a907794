// Package python_test runs the framework that is written in Python, to prove
// that the description of the protocol is all that one needs.
package python_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestFramework(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: there is no python3 to run framework.py with")
	}
	cluster := &frameworktest.Cluster{Units: 2, Run: func(task offers.Task) offers.Status {
		if strings.Join(task.Command.Args(), " ") != "echo hello" {
			return offers.Status{State: offers.Failed}
		}
		return offers.Status{State: offers.Finished, ExitCode: new(int)}
	}}
	leader, follower := frameworktest.NewMaster(t), frameworktest.NewMaster(t)
	leader.Serve(cluster.Serve)
	follower.Redirect(leader.Address())
	cmd := exec.Command(python, "framework.py", "--masters", "127.0.0.1:1,"+follower.Address(), "--count", "5", "--", "echo", "hello")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), " finished"); n != 5 {
		t.Errorf("%d tasks finished, want 5:\n%s", n, out)
	}
	leader.Stop()
	if n := cluster.Unacknowledged(); n != 0 {
		t.Errorf("%d tasks have updates that were not acknowledged", n)
	}
}
