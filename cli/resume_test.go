package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// told is an event as far as these tests look at it.
type told struct {
	ID    string
	Type  string
	Task  offers.TaskID `json:"task_id"`
	State string
}

// durable says that every master has it: the ids of the others have more parts.
func (e told) durable() bool { return strings.Count(e.ID, ".") == 2 }

func readTold(tb testing.TB, line []byte) told {
	tb.Helper()
	var e told
	if err := json.Unmarshal(line, &e); err != nil {
		tb.Fatalf("%q: %v", line, err)
	}
	return e
}

// command is a process of the program that runs beside a test.
type command struct {
	*exec.Cmd
	lines chan []byte // of its output; closed at its end
	said  bytes.Buffer
}

func begin(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command("ringmaster", args...), lines: make(chan []byte, 1<<16)}
	c.Stderr = &c.said
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(c.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			c.lines <- bytes.Clone(lines.Bytes())
		}
	}()
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// next returns the next line, nil at the end.
func (c *command) next(t *testing.T, what string) []byte {
	t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(patience):
		t.Fatalf("%s does not come", what)
	}
	return nil
}

// end waits for the process and returns its exit code.
func (c *command) end() int {
	_ = c.Wait() // the code says it
	return c.ProcessState.ExitCode()
}

// TestEventsGoOnAcrossLeaders kills the leader -9 twice while ringmaster events
// follows. It gets every durable event exactly once and in order, as the last
// leader has them and as the framework saw its tasks.
func TestEventsGoOnAcrossLeaders(t *testing.T) {
	c := newCluster(t, 3, 2)
	masters := strings.Join(c.http, ",")
	reader := begin(t, "events", "-o", "json", "--masters", masters, "--after", "oldest")
	var got []told
	hear := func(until func(told) bool) {
		for {
			e := readTold(t, reader.next(t, "the next event"))
			if e.Type == "gap" {
				t.Fatalf("a gap after %d events", len(got))
			}
			if got = append(got, e); until(e) {
				return
			}
		}
	}
	hear(func(e told) bool { return e.Type == "agent_registered" })
	s := newStream(t, c)
	for range 2 {
		s.more(30)
		changes, dead := s.changes, c.masters[s.leader]
		dead.kill(t)
		s.until("the next leader", func() bool { return s.changes > changes })
		s.more(30)
		dead.start(t)
		dead.await(t)
	}
	s.finish(c)

	out, err := exec.Command("ringmaster", "events", "-o", "json", "--masters", masters, "--follow=false").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []told
	for line := range bytes.Lines(out) {
		if e := readTold(t, line); e.durable() {
			want = append(want, e)
		}
	}
	last := want[len(want)-1]
	hear(func(e told) bool { return e.ID == last.ID })
	got = slices.DeleteFunc(got, func(e told) bool { return !e.durable() })
	if !slices.Equal(got, want) {
		t.Errorf("the reader had %d durable events, the last leader has %d:\n%v\n%v", len(got), len(want), got, want)
	}
	ends := map[offers.TaskID]string{}
	for _, e := range got {
		if e.Type == "task_ended" {
			if ends[e.Task] != "" {
				t.Errorf("%s ended twice", e.Task)
			}
			ends[e.Task] = e.State
		}
	}
	for id := range s.accepted {
		if string(s.ends[id][0].State) != ends[id] {
			t.Errorf("%s ended as %s, the reader had %q", id, s.ends[id][0].State, ends[id])
		}
	}
	if err := reader.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := reader.end(); code != 0 || reader.said.Len() > 0 {
		t.Errorf("Ctrl-C ended it with code %d, and it said %s", code, &reader.said)
	}
}

// TestLogsGoOn follows a log while its leader is killed -9, its agent is
// killed -9, and its agent is restarted: every byte comes once.
func TestLogsGoOn(t *testing.T) {
	c := newCluster(t, 3, 1)
	masters := strings.Join(c.http, ",")
	files := t.TempDir()
	stop := filepath.Join(files, "stop")
	script := fmt.Sprintf(`n=0; while ! [ -e %s ]; do n=$((n+1)); echo line $n; sleep 0.05; done; echo the end`, stop)
	if out, err := exec.Command("ringmaster", "run", "-d", "--name", "talk", "--masters", masters, "--", "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log := begin(t, "logs", "-f", "talk", "--masters", masters)
	n := 0
	lines := func(more int) {
		for range more {
			n++
			if got := string(log.next(t, "the next line")); got != fmt.Sprint("line ", n) {
				t.Fatalf("after line %d came %q; it said %s", n-1, got, &log.said)
			}
		}
	}
	lines(10)
	leader := c.masters[c.leader(t)]
	leader.kill(t)
	lines(30)
	leader.start(t)
	leader.await(t)
	c.agents[0].kill(t)
	c.agents[0].start(t)
	c.agents[0].await(t)
	lines(30)
	c.agents[0].signal(t, syscall.SIGTERM)
	_ = c.agents[0].cmd.Wait() // it was told to end
	c.agents[0].start(t)
	c.agents[0].await(t)
	lines(30)
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		line := string(log.next(t, "the end"))
		if n++; line == fmt.Sprint("line ", n) {
			continue
		}
		if line != "the end" {
			t.Errorf("after line %d came %q", n-1, line)
		}
		break
	}
	if code := log.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, &log.said)
	}
}
