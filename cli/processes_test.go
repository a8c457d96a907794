package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for real processes; it passes only when
// something is broken.
const patience = 60 * time.Second

// daemon is one process of a real cluster. It can be killed and started again
// with the same arguments.
type daemon struct {
	name  string
	args  []string
	log   string
	cmd   *exec.Cmd
	ready chan string // its ready line, of the present process
}

// needShim skips where make has not built what real agents need.
func needShim(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat("../agent/process/shim/embedded/shim"); err != nil {
		tb.Skip("the agent's shim is not built: run make test")
	}
}

// launch starts a daemon in dir; ready waits until it serves.
func launch(tb testing.TB, dir, name string, args ...string) *daemon {
	tb.Helper()
	d := &daemon{name: name, args: args, log: filepath.Join(dir, name+".log")}
	d.start(tb)
	tb.Cleanup(func() {
		d.kill(tb)
		if text, err := os.ReadFile(d.log); err == nil && tb.Failed() {
			tb.Logf("the log of %s:\n%s", name, text)
		}
	})
	return d
}

func (d *daemon) start(tb testing.TB) {
	tb.Helper()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	d.cmd, d.ready = exec.Command("ringmaster", d.args...), make(chan string, 1)
	d.cmd.Stderr = log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ready := d.ready
	go func() { // ends with the process
		line, _ := bufio.NewReader(out).ReadString('\n')
		ready <- strings.TrimSpace(line)
	}()
}

// await returns the daemon's ready line.
func (d *daemon) await(tb testing.TB) string {
	tb.Helper()
	select {
	case line := <-d.ready:
		if !strings.HasPrefix(line, "ready ") {
			tb.Fatalf("%s said %q instead of being ready", d.name, line)
		}
		return strings.TrimPrefix(line, "ready ")
	case <-time.After(patience):
		tb.Fatalf("%s is not ready", d.name)
	}
	return ""
}

// kill ends the process with SIGKILL, also when it is stopped.
func (d *daemon) kill(tb testing.TB) {
	tb.Helper()
	if d.cmd.ProcessState != nil {
		return
	}
	if err := d.cmd.Process.Kill(); err != nil {
		tb.Errorf("kill %s: %v", d.name, err)
	}
	_ = d.cmd.Wait() // it was killed
}

func (d *daemon) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("%v to %s: %v", s, d.name, err)
	}
}

// addresses returns n addresses on loopback that nobody used a moment ago.
func addresses(tb testing.TB, n int) []string {
	tb.Helper()
	var out []string
	for range n {
		at, err := freeAddress()
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, at)
	}
	return out
}

// cluster is real masters and agents.
type cluster struct {
	dir     string
	http    []string // of the masters
	masters map[string]*daemon
	agents  []*daemon
}

// newCluster starts that many masters and agents and waits for all of them.
func newCluster(tb testing.TB, masters, agents int, more ...string) *cluster {
	tb.Helper()
	needShim(tb)
	at := addresses(tb, 2*masters)
	c := &cluster{dir: tb.TempDir(), http: at[:masters], masters: map[string]*daemon{}}
	for i := range masters {
		name := fmt.Sprintf("m%d", i+1)
		c.masters[name] = launch(tb, c.dir, name, append([]string{
			"master", "--name", name, "--data-dir", filepath.Join(c.dir, name), "--http", at[i], "--raft", at[masters+i],
			"--bootstrap-expect", fmt.Sprint(masters), "--join", strings.Join(at[masters:], ","),
		}, more...)...)
	}
	for i := range agents {
		name := fmt.Sprintf("a%d", i+1)
		c.agents = append(c.agents, launch(tb, c.dir, name,
			"agent", "--name", name, "--data-dir", filepath.Join(c.dir, name), "--masters", strings.Join(c.http, ","),
			"--resources", "cpus=8,mem=4GiB,disk=4GiB"))
	}
	for _, d := range c.masters {
		d.await(tb)
	}
	for _, d := range c.agents {
		d.await(tb)
	}
	return c
}

// read fills v from the first master that answers a GET.
func (c *cluster) read(tb testing.TB, path string, v any) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for last := ""; ; {
		for _, at := range c.http {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+path, nil)
			if err != nil {
				tb.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				last = err.Error()
				continue
			}
			err = json.NewDecoder(resp.Body).Decode(v)
			resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK {
				return
			}
			last = fmt.Sprint(resp.Status, err)
		}
		if ctx.Err() != nil {
			tb.Fatalf("no master answers GET %s: %s", path, last)
		}
	}
}

// leader returns the name of the master that leads.
func (c *cluster) leader(tb testing.TB) string {
	tb.Helper()
	var status struct {
		Leader struct {
			Name string `json:"name"`
		} `json:"leader"`
	}
	c.read(tb, "/v1/status", &status)
	return status.Leader.Name
}
