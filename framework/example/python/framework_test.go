// Package python_test runs the framework that is written in Python, to prove
// that the description of the protocol is all that one needs.
package python_test

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestFramework(t *testing.T) {
	cluster := work()
	leader, follower := frameworktest.NewMaster(t), frameworktest.NewMaster(t)
	leader.Serve(cluster.Serve)
	follower.Redirect(leader.Address())
	run(t, "--masters", "127.0.0.1:1,"+follower.Address())
	leader.Stop()
	if n := cluster.Unacknowledged(); n != 0 {
		t.Errorf("%d tasks have updates that were not acknowledged", n)
	}
}

// TestFrameworkOverTLS has it speak to a master whose certificate it trusts by
// --ca.
func TestFrameworkOverTLS(t *testing.T) {
	cluster, leader := work(), frameworktest.NewMaster(t)
	leader.Serve(cluster.Serve)
	front := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: leader.Address()}))
	defer front.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "--ca", ca, "--masters", front.Listener.Addr().String())
}

// work is a cluster on which only the right command finishes.
func work() *frameworktest.Cluster {
	return &frameworktest.Cluster{Units: 2, Run: func(task offers.Task) offers.Status {
		if strings.Join(task.Command.Args(), " ") != "echo hello" {
			return offers.Status{State: offers.Failed}
		}
		return offers.Status{State: offers.Finished, ExitCode: new(int)}
	}}
}

// run has the framework run five tasks.
func run(t *testing.T, flags ...string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: there is no python3 to run framework.py with")
	}
	out, err := exec.Command(python, append(append([]string{"framework.py"}, flags...), "--count", "5", "--", "echo", "hello")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), " finished"); n != 5 {
		t.Errorf("%d tasks finished, want 5:\n%s", n, out)
	}
}
