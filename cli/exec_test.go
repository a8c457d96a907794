package cli_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen is what a terminal shows.
type screen struct {
	t    testing.TB
	keys *os.File

	mu   sync.Mutex
	more *sync.Cond
	text string
	over bool
}

// watch reads a terminal until nobody has it open.
func watch(t testing.TB, keys *os.File) *screen {
	s := &screen{t: t, keys: keys}
	s.more = sync.NewCond(&s.mu)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		data := make([]byte, 4096)
		for {
			n, err := keys.Read(data)
			s.mu.Lock()
			s.text += string(data[:n])
			s.over = err != nil
			s.more.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = keys.Close()
		<-ended
	})
	return s
}

func (s *screen) typed(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, text); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the terminal has shown text, and forgets what came until then.
func (s *screen) shows(text string) {
	s.t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = s.keys.Close() })
	defer late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text, text) {
		if s.over {
			s.t.Fatalf("the terminal does not show %q but %q", text, s.text)
		}
		s.more.Wait()
	}
	_, s.text, _ = strings.Cut(s.text, text)
}

// devWithTask starts a cluster of one and a task on it, and returns its masters and the
// task.
func devWithTask(t *testing.T) (masters, task string) {
	t.Helper()
	needShim(t)
	cluster := exec.Command("ringmaster", "dev", "--http", "127.0.0.1:0", "--data-dir", t.TempDir())
	out, err := cluster.StdoutPipe()
	if err == nil {
		err = cluster.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cluster.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		_ = cluster.Wait() // it tells how it was ended
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	masters, ready := strings.CutPrefix(strings.TrimSpace(line), "ready http://")
	if err != nil || !ready {
		t.Fatalf("the cluster says %q, %v", line, err)
	}
	id, err := exec.Command("ringmaster", "run", "--masters", masters, "--detach", "--", "sleep", "1000").Output()
	if err != nil {
		t.Fatal(err)
	}
	task = strings.TrimSpace(string(id))
	awaitRunning(t, masters, task)
	return masters, task
}

// awaitRunning watches a task, as a person would, until it runs.
func awaitRunning(t *testing.T, masters, task string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch := exec.CommandContext(ctx, "ringmaster", "tasks", "--watch", "--masters", masters, task)
	out, err := watch.StdoutPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewScanner(out)
	running := false
	for !running && seen.Scan() {
		running = strings.Contains(seen.Text(), "running")
	}
	cancel()
	_ = watch.Wait() // it was told to end
	if !running {
		t.Fatalf("the task %s does not run", task)
	}
}

// TestExecTerminal: with a terminal on this end the command has one on its own,
// with this one's size and its changes; keys reach it as they are, and this end
// is left as it was.
func TestExecTerminal(t *testing.T) {
	masters, task := devWithTask(t)
	cmd := exec.Command("ringmaster", "exec", "--masters", masters, task, "--", "sh", "-c",
		`trap 'echo changed $(stty size)' WINCH; trap 'echo interrupted; exit 9' INT
		tty; echo size $(stty size) $TERM; test -t 0 && test -t 1 && test -t 2 && echo all three; read line; echo read $line; while :; do sleep 0.1; done`)
	cmd.Env = append(os.Environ(), "TERM=vt220")
	keys, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 31, Cols: 97})
	if err != nil {
		t.Fatal(err)
	}
	s := watch(t, keys)
	s.shows("/dev/pts/")
	s.shows("size 31 97 vt220\r\n")
	s.shows("all three\r\n")
	s.typed("some words\n")
	s.shows("read some words\r\n")
	if err := pty.Setsize(keys, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	s.shows("changed 40 120\r\n")
	s.typed("\x03")
	s.shows("interrupted\r\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
		t.Errorf("it ended with %v", err)
	}
}
