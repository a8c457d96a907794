package replica

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/pages/disktest"
)

// asFailing holds "folder kind:n:marker" for a test that is a master whose disk
// is to fail.
const asFailing = "RINGMASTER_TEST_FAILING"

const failingEntries = 8

// TestFailingMaster is the master of TestFailedWrites, in a process of its own.
// It says every entry that was agreed on, and why it ends.
func TestFailingMaster(t *testing.T) {
	dir, how, ok := strings.Cut(os.Getenv(asFailing), " ")
	if !ok {
		t.Skip("it is a part of TestFailedWrites")
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, "\n> "+format+"\n", args...) }
	if err := disktest.FailAs(how, "raft.db"); err != nil {
		say("%v", err)
		return
	}
	c := config(t, "m1")
	c.DataDir, c.RuntimeDir, c.Pace = dir, filepath.Dir(dir), 60*time.Millisecond
	r, err := Open(c)
	if err != nil {
		say("error %v", err)
		return
	}
	defer r.Close()
	for n := 1; n <= failingEntries; {
		if _, err := r.Apply(0, []state.Command{setRole("role", float64(n))}).Wait(); err == nil {
			say("agreed %d", n)
			n++
		} else {
			select {
			case <-r.Failed():
				say("error %v", r.Failure())
				return
			case <-r.LeadershipChanges():
			}
		}
		if n == failingEntries/2 {
			if err := r.raft.Snapshot().Error(); err != nil {
				t.Logf("no snapshot: %v", err)
			}
		}
	}
	say("done")
}

// failing runs that master and returns the last entry that was agreed on, what
// it ended with, and whether its disk has failed.
func failing(t *testing.T, dir, kind string, n int) (agreed int, said string, failed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "failed")
	cmd := exec.Command(self, "-test.run=^TestFailingMaster$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s:%d:%s", asFailing, dir, kind, n, marker))
	out, _ := cmd.CombinedOutput() // what it says tells how it ended
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line, ok := strings.CutPrefix(lines.Text(), "> ")
		switch word, rest, _ := strings.Cut(line, " "); {
		case !ok:
		case word == "agreed":
			if agreed, err = strconv.Atoi(rest); err != nil {
				t.Fatal(err)
			}
		case word == "error":
			said = rest
		case strings.Contains(line, disktest.ErrNotHere.Error()):
			t.Skip(line)
		case word != "done":
			t.Fatal(line)
		}
	}
	if bytes.Contains(out, []byte("panic:")) {
		t.Errorf("%s %d: %s", kind, n, out)
	}
	_, err = os.Stat(marker)
	return agreed, said, err == nil
}

// TestFailedWrites makes every write and every sync in the life of a master
// fail: it ends with one sentence, and what it had agreed to is there when it
// comes back.
func TestFailedWrites(t *testing.T) {
	for _, kind := range []string{disktest.Write, disktest.Sync} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				dir := filepath.Join(t.TempDir(), "m1")
				agreed, said, failed := failing(t, dir, kind, n)
				if !failed {
					t.Logf("a life has %d calls of the kind", n-1)
					return
				}
				if said == "" || !strings.Contains(said, "raft.db") {
					t.Errorf("%s %d: it ends with %q after %d entries", kind, n, said, agreed)
				}
				if _, err := os.Stat(filepath.Join(dir, "identity.json")); errors.Is(err, fs.ErrNotExist) && agreed == 0 {
					continue // it has never been a master
				}
				s, err := rebuild(dir, "m1", filepath.Dir(dir))
				if err != nil {
					t.Errorf("%s %d: after %d entries: %v", kind, n, agreed, err)
					continue
				}
				if weight := weightOf(s, "role"); weight < float64(agreed) || weight > float64(agreed+1) {
					t.Errorf("%s %d: %d entries were agreed on, %v are there", kind, n, agreed, weight)
				}
			}
		})
	}
}

func weightOf(s *state.State, role offers.Role) float64 {
	for name, settings := range s.Roles() {
		if name == role {
			return settings.Weight
		}
	}
	return 0
}
