package cli_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// terminal is a pseudo-terminal with a command in it.
type terminal struct {
	*exec.Cmd
	tty    *os.File
	screen vt10x.Terminal
	drawn  chan struct{} // something was written since it was last looked at
	ended  sync.WaitGroup
}

func openTerminal(t *testing.T, cols, rows int, args ...string) *terminal {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	x := &terminal{Cmd: exec.CommandContext(ctx, "ringmaster", args...), drawn: make(chan struct{}, 1)}
	x.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	tty, err := pty.StartWithSize(x.Cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	x.tty, x.screen = tty, vt10x.New(vt10x.WithSize(cols, rows))
	x.ended.Go(func() {
		defer close(x.drawn)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf) // an error once the command has ended
			if _, broken := x.screen.Write(buf[:n]); broken != nil || err != nil {
				return
			}
			select {
			case x.drawn <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		x.ended.Wait()
		_ = tty.Close() // nothing is to be lost any more
	})
	return x
}

func (x *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := x.tty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// sees waits until the screen shows all of these.
func (x *terminal) sees(t *testing.T, texts ...string) {
	t.Helper()
	for {
		screen, all := x.screen.String(), true
		for _, text := range texts {
			all = all && strings.Contains(screen, text)
		}
		if all {
			return
		}
		if _, open := <-x.drawn; !open {
			t.Fatalf("the command has ended, or shows for a minute:\n%s\nwhich lacks some of %q", x.screen.String(), texts)
		}
	}
}

// ends waits for the end of the command and returns its exit code.
func (x *terminal) ends() int {
	x.ended.Wait()
	_ = x.Wait() // the code says it
	return x.ProcessState.ExitCode()
}

// TestTopInTerminal goes through every view with keys alone, in a terminal
// that changes its size.
func TestTopInTerminal(t *testing.T) {
	f := newFake(t, "")
	go drain(t.Context(), f.asked)
	x := openTerminal(t, 80, 24, "top", "--masters", f.address())
	x.sees(t, "leader  m1 at 127.0.0.1:5050, term 3", "[1:agents]", "> ag-0001", "waiting  4 gpu", "1.5 of 12.5")
	x.press(t, "2")
	x.sees(t, "[2:tasks]", "> build-7", "SIGTERM")
	x.press(t, "/build-8\r")
	x.sees(t, "/build-8 ", "1-1 of 1 (4)", "> build-8")
	x.press(t, "\r")
	x.sees(t, "task fw-1:build-8", "it ended with 7", "launched", "esc back")
	x.press(t, "3")
	x.sees(t, "[3:roles]", "eng/ml", "cpus=20")
	x.press(t, "\t")
	x.sees(t, "[4:rings]", "8 and more", "worker-3 64")
	x.screen.Resize(50, 12)
	if err := pty.Setsize(x.tty, &pty.Winsize{Cols: 50, Rows: 12}); err != nil {
		t.Fatal(err)
	}
	x.sees(t, "1-5 of 5", "filter  < > so…")
	x.press(t, "q")
	if code := x.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestTopEndedBySignal: the terminal is left as it was, and that is a good end.
func TestTopEndedBySignal(t *testing.T) {
	f := newFake(t, "")
	go drain(t.Context(), f.asked)
	x := openTerminal(t, 80, 24, "top", "--view", "roles", "--masters", f.address())
	x.sees(t, "[3:roles]", "eng/ml")
	if err := x.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := x.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := x.screen.String(); strings.Contains(s, "eng/ml") || !x.screen.CursorVisible() {
		t.Errorf("the terminal is left with\n%s", s)
	}
}

// drain hears what a fake tells, which nobody waits for here.
func drain(ctx context.Context, heard <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-heard:
		}
	}
}

// TestEventsSayThatTheyWait: where nothing happens a terminal shows that the
// stream is there.
func TestEventsSayThatTheyWait(t *testing.T) {
	c := newCluster(t, 1, 0)
	x := openTerminal(t, 100, 10, "events", "--masters", c.http[0])
	x.sees(t, "connected to "+c.http[0]+"; what changes is shown as it happens, until Ctrl-C")
	x.press(t, "\x03")
	if code := x.ends(); code != 0 {
		t.Errorf("after Ctrl-C it ends with %d", code)
	}
}
