package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// byFollowers returns how many units the master at an address has placed by the
// lists of followers; none where it does not lead.
func byFollowers(t *testing.T, at string) (units float64) {
	t.Helper()
	resp, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), " "); strings.HasPrefix(name, "ringmaster_prematched_total{") && strings.Contains(name, `source="follower"`) {
			var n float64
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatalf("%s is %q", name, value)
			}
			units += n
		}
	}
	return units
}

// TestFollowerPrematches: a follower that is told to reads agents for the leader,
// and whatever becomes of it, nobody waits for it.
func TestFollowerPrematches(t *testing.T) {
	c := newCluster(t, 3, 2, "--placement", "least-requested")
	leader := c.leader(t)
	at, helper := map[string]string{}, ""
	for i, address := range c.http {
		name := fmt.Sprintf("m%d", i+1)
		if at[name] = address; name != leader {
			helper = name
		}
	}
	shape := 0
	run := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cpus := fmt.Sprintf("0.%03d", 100+shape)
		if out, err := exec.CommandContext(ctx, "ringmaster", "run", "--masters", strings.Join(c.http, ","), "--count", "4", "--cpus", cpus, "--mem", "16MiB", "--", "true").CombinedOutput(); err != nil {
			t.Fatalf("run: %v\n%s", err, out)
		}
	}
	until := func(what, leader string, than float64) {
		t.Helper()
		for end := time.Now().Add(patience); byFollowers(t, at[leader]) <= than; run() {
			if time.Now().After(end) {
				t.Fatalf("%s: nothing is placed by the lists of a follower", what)
			}
		}
	}
	run()
	run()
	if n := byFollowers(t, at[leader]); n > 0 {
		t.Fatalf("%v units were placed by lists that nobody was to make", n)
	}
	d := c.masters[helper]
	d.kill(t)
	d.args = append(d.args, "--prematch-follow")
	d.start(t)
	d.await(t)
	until("a follower", leader, 0)

	shape++ // there is no list for it yet
	before := byFollowers(t, at[leader])
	d.signal(t, syscall.SIGSTOP)
	run()
	run()
	if n := byFollowers(t, at[leader]); n != before {
		t.Errorf("%v units of a new shape were placed by lists of a follower that is stopped", n-before)
	}
	d.signal(t, syscall.SIGCONT)
	until("it goes on", leader, before)

	var next string
	for name := range c.masters {
		if name != leader && name != helper {
			next = name
		}
	}
	if out, err := exec.CommandContext(t.Context(), "ringmaster", "leader", "transfer", next, "--masters", strings.Join(c.http, ",")).CombinedOutput(); err != nil {
		t.Fatalf("transfer: %v\n%s", err, out)
	}
	until("another leads", next, 0)
	d.kill(t)
	shape++
	run()
}
