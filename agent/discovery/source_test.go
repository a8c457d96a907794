package discovery_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
)

// heard is what a source said once.
type heard struct {
	report discovery.Report
	err    error
}

// listen runs a shell script as a plugin until the test ends and returns what
// is heard of it.
func listen(t *testing.T, script string, patience time.Duration) <-chan heard {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	out, done := make(chan heard, 100), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		discovery.Source{Path: path, Pause: 10 * time.Millisecond, Patience: patience}.Run(ctx, func(r discovery.Report, err error) {
			select {
			case out <- heard{r, err}:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Error("the source does not end")
		}
	})
	return out
}

func next(t *testing.T, from <-chan heard) heard {
	t.Helper()
	select {
	case h := <-from:
		return h
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is heard")
		return heard{}
	}
}

const one = `{"devices":[{"class":"npu","id":"a","capacity":1}]}`

// TestSourceEndsAndGoesOn: a program that ends is started again, and one that
// goes on is heard as it speaks, however it breaks its lines.
func TestSourceEndsAndGoesOn(t *testing.T) {
	again := listen(t, "echo '"+one+"'", time.Minute)
	for range 3 {
		if h := next(t, again); h.err != nil || len(h.report.Devices) != 1 {
			t.Fatalf("heard %+v", h)
		}
	}
	on := listen(t, `echo '{"devices":'; echo '[]}{"devices":[]}'; read forever`, time.Minute)
	for range 2 {
		if h := next(t, on); h.err != nil || len(h.report.Devices) != 0 {
			t.Fatalf("heard %+v", h)
		}
	}
}

// TestSourceMisbehaves: whatever a program does, one sentence is heard, and it
// is started again.
func TestSourceMisbehaves(t *testing.T) {
	for name, row := range map[string]struct {
		script   string
		patience time.Duration
		want     string
	}{
		"it is not there to be run":    {"", 0, "it can't be started"},
		"it hangs":                     {"sleep 1000", 50 * time.Millisecond, "it said nothing for 50ms"},
		"it hangs and ignores":         {"trap '' TERM INT; while :; do sleep 1000; done", 50 * time.Millisecond, "it said nothing for 50ms"},
		"it crashes":                   {"kill -SEGV $$", time.Minute, "it was ended by SIGSEGV"},
		"it fails and says why":        {"echo one >&2; echo two >&2; exit 3", time.Minute, "it ended with status 3: two"},
		"it says nothing":              {"exit 0", time.Minute, "it ended without a report"},
		"it writes no JSON":            {"echo hello", time.Minute, "something that is no report"},
		"it writes something else":     {`echo '{"device":[]}'`, time.Minute, "no list of devices"},
		"it breaks off":                {`echo '{"devices":['`, time.Minute, "something that is no report"},
		"it writes without end":        {`printf '{"devices":["'; yes | tr -d '\n'`, time.Minute, "more than 4 MiB"},
		"it writes blanks for ever":    {`yes ''`, time.Minute, "more than 4 MiB"},
		"it complains without end":     {`yes >&2`, 200 * time.Millisecond, "it said nothing for 200ms"},
		"its child holds its output":   {`setsid sleep 3 & exit 4`, 100 * time.Millisecond, "it said nothing for 100ms"},
		"it fails after a good report": {"echo '" + one + "'; exit 5", time.Minute, "it ended with status 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var from <-chan heard
			if row.script == "" {
				out := make(chan heard, 100)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go discovery.Source{Path: "/nowhere/plugin", Pause: time.Millisecond}.Run(ctx, func(r discovery.Report, err error) {
					select {
					case out <- heard{r, err}:
					case <-ctx.Done():
					}
				})
				from = out
			} else {
				from = listen(t, row.script, row.patience)
			}
			for range 2 {
				h := next(t, from)
				for h.err == nil {
					h = next(t, from)
				}
				if !strings.Contains(h.err.Error(), row.want) || strings.Contains(h.err.Error(), "\n") || len(h.err.Error()) > 500 {
					t.Errorf("heard %q, want %q", h.err, row.want)
				}
			}
		})
	}
}

// TestSourceLeavesNothingBehind: what a program started in its group ends with
// it.
func TestSourceLeavesNothingBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	from := listen(t, fmt.Sprintf(`sleep 1000 >/dev/null 2>&1 & echo $! > %s.new; mv %s.new %s; echo '%s'; exit 0`, file, file, file, one), time.Minute)
	next(t, from)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; next(t, from) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}
