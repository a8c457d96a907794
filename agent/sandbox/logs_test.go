package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/sandbox"
)

func newStore(t testing.TB) (*sandbox.Store, string) {
	t.Helper()
	s, err := sandbox.Open(t.TempDir(), sandbox.Keep{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Create(ref(1), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

// lines returns numbered lines of 16 bytes each.
func lines(from, to int) []byte {
	var out bytes.Buffer
	for n := from; n < to; n++ {
		fmt.Fprintf(&out, "line %10d\n", n)
	}
	return out.Bytes()
}

func grow(t testing.TB, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

func trimmed(t testing.TB, s *sandbox.Store, keep int64) int64 {
	t.Helper()
	n, err := s.TrimLogs(ref(1), keep)
	if errors.Is(err, sandbox.ErrKept) {
		t.Skip("this file system knows no holes")
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// read returns what a reader of a log gets who begins at offset.
func read(t testing.TB, s *sandbox.Store, offset int64) string {
	t.Helper()
	ended := make(chan struct{})
	close(ended)
	w := httptest.NewRecorder()
	if err := s.ServeLog(w, httptest.NewRequest(http.MethodGet, "/", nil), ref(1), "stdout", offset, ended); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

func TestTrimLogs(t *testing.T) {
	s, path := newStore(t)
	all := lines(0, 1<<16) // 1 MiB
	grow(t, filepath.Join(path, "stdout"), all)
	before, err := s.Used(ref(1))
	if err != nil {
		t.Fatal(err)
	}
	if n := trimmed(t, s, 2<<20); n != 0 {
		t.Errorf("%d bytes of a short log went", n)
	}
	const keep = 200_000
	freed := trimmed(t, s, keep)
	if freed < 1<<20-keep-64<<10 || freed > 1<<20-keep {
		t.Errorf("%d bytes went", freed)
	}
	after, err := s.Used(ref(1))
	if err != nil || before-after < freed {
		t.Errorf("it took %d bytes of the disk and takes %d, %v", before, after, err)
	}
	if n := trimmed(t, s, keep); n != 0 {
		t.Errorf("%d more bytes went", n)
	}
	grow(t, filepath.Join(path, "stdout"), []byte("the end\n"))
	rest := string(all[freed:]) + "the end\n"
	for offset, want := range map[int64]string{0: rest, freed - 5: rest, freed: rest, freed + 5: rest[5:], 1 << 20: "the end\n", 2 << 20: ""} {
		if got := read(t, s, offset); got != want {
			t.Errorf("from %d on there are %d bytes, want %d", offset, len(got), len(want))
		}
	}
	w := httptest.NewRecorder()
	if err := s.ServeFile(w, httptest.NewRequest(http.MethodGet, "/", nil), ref(1), "stdout", nil); err != nil || w.Body.String() != rest {
		t.Errorf("as a file it has %d bytes, want %d, %v", w.Body.Len(), len(rest), err)
	}
}

// TestTrimTouchesOnlyLogs holds that a task can't have the agent punch holes
// into anything else by putting it where its log was.
func TestTrimTouchesOnlyLogs(t *testing.T) {
	data := lines(0, 1<<16)
	for name, put := range map[string]func(victim, log string) error{
		"a link": os.Symlink, "a second name": os.Link,
		"a link inside": func(victim, log string) error {
			return errors.Join(os.Rename(victim, filepath.Join(filepath.Dir(log), "inside")), os.Symlink("inside", log), os.Link(filepath.Join(filepath.Dir(log), "inside"), victim))
		},
		"a folder": func(_, log string) error { return os.Mkdir(log, 0o700) },
		"a pipe":   func(_, log string) error { return unix.Mkfifo(log, 0o600) },
		"nothing":  func(_, _ string) error { return nil },
	} {
		s, path := newStore(t)
		victim, log := filepath.Join(t.TempDir(), "victim"), filepath.Join(path, "stdout")
		err := errors.Join(os.WriteFile(victim, data, 0o600), os.Remove(log), put(victim, log))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := trimmed(t, s, 1000); n != 0 {
			t.Errorf("%s: %d bytes went", name, n)
		}
		if got, err := os.ReadFile(victim); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: the victim has changed, %v", name, err)
		}
	}
}

// slow is a reader's connection that takes its time.
type slow struct {
	*httptest.ResponseRecorder
	each func()
}

func (s *slow) Write(data []byte) (int, error) {
	s.each()
	return s.ResponseRecorder.Write(data)
}

// TestFollowerOfATrimmedLog lets a log grow and lose its beginning under a
// reader that follows it slowly. The reader may miss lines, but gets no zero
// byte, nothing twice, nothing out of order, and the end.
func TestFollowerOfATrimmedLog(t *testing.T) {
	s, path := newStore(t)
	log, written := filepath.Join(path, "stdout"), 0
	more := func(n int) {
		grow(t, log, lines(written, written+n))
		written += n
		trimmed(t, s, 128<<10)
	}
	more(1 << 15)
	w := &slow{httptest.NewRecorder(), func() { // while it waits to send, more is written, and given up
		if written < 1<<19 {
			more(1 << 15)
		}
	}}
	ended := make(chan struct{})
	close(ended)
	if err := s.ServeLog(w, httptest.NewRequest(http.MethodGet, "/", nil), ref(1), "stdout", 0, ended); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if strings.ContainsRune(body, 0) {
		t.Fatal("there are zeros in what was read")
	}
	if !strings.HasSuffix(body, string(lines(written-1, written))) {
		t.Error("the end is missing")
	}
	last := -1
	for line := range strings.Lines(body[strings.IndexByte(body, '\n')+1:]) {
		var n int
		if _, err := fmt.Sscanf(line, "line %d\n", &n); err != nil {
			continue // cut where a beginning went
		}
		if n <= last {
			t.Fatalf("line %d comes after %d", n, last)
		}
		last = n
	}
	if len(body) >= written*16 {
		t.Error("nothing was given up")
	}
}

func TestUsed(t *testing.T) {
	s, path := newStore(t)
	base, err := s.Used(ref(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "deep", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, "deep", "er", "f")
	err = errors.Join(os.WriteFile(file, make([]byte, 1<<20), 0o600), os.Link(file, filepath.Join(path, "again")), os.Symlink("/usr", filepath.Join(path, "away")))
	if err != nil {
		t.Fatal(err)
	}
	hole, err := os.Create(filepath.Join(path, "hole"))
	if err == nil {
		err = errors.Join(hole.Truncate(1<<30), hole.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if used, err := s.Used(ref(1)); err != nil || used-base < 1<<20 || used-base > 1<<20+64<<10 {
		t.Errorf("%d more bytes are used, %v", used-base, err)
	}
	if _, err := s.Used(ref(99)); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestNearlyFull(t *testing.T) {
	const gib = 1 << 30
	for _, row := range []struct {
		total, free uint64
		want        bool
	}{{20 * gib, gib, false}, {20 * gib, gib - 1, true}, {1000 * gib, 6 * gib, false}, {1000 * gib, 4 * gib, true}, {0, 0, false}} {
		if got := sandbox.NearlyFull(row.total, row.free); got != row.want {
			t.Errorf("%d of %d free: %v", row.free, row.total, got)
		}
	}
}

// TestFull: a disk that is full stays so until twice as much is free, so that what
// comes and goes on it does not have its agent offered and taken back in turn.
func TestFull(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct {
		total, free uint64
		was, want   bool
	}{
		{1000 * mib, 10 * mib, false, false}, {1000 * mib, 10*mib - 1, false, true},
		{1000 * mib, 20*mib - 1, true, true}, {1000 * mib, 20 * mib, true, false},
		{1 << 40, 256 * mib, false, false}, {1 << 40, 256*mib - 1, false, true},
		{1 << 40, 512*mib - 1, true, true}, {1 << 40, 512 * mib, true, false}, {0, 0, true, false},
	} {
		if got := sandbox.Full(row.total, row.free, row.was); got != row.want {
			t.Errorf("%d of %d free, full before: %t: %t", row.free, row.total, row.was, got)
		}
	}
}
