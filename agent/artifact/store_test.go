package artifact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/artifact"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

func sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return hex.EncodeToString(s[:])
}

func open(t testing.TB, c artifact.Config) *artifact.Store {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Pause == 0 {
		c.Pause = time.Millisecond
	}
	s, err := artifact.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// counting serves one content at every path and counts who asks.
type counting struct {
	*httptest.Server
	asked atomic.Int32
}

func serve(t testing.TB, handler http.HandlerFunc) *counting {
	t.Helper()
	c := &counting{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		handler(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func says(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }
}

func stage(t testing.TB, s *artifact.Store, list ...offers.Artifact) (string, error) {
	t.Helper()
	dir := t.TempDir()
	return dir, s.Stage(context.Background(), list, artifact.Target{Dir: dir})
}

// staged stages what must go well and returns the content of one file.
func staged(t testing.TB, s *artifact.Store, file string, list ...offers.Artifact) string {
	t.Helper()
	dir, err := stage(t, s, list...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func refused(t testing.TB, s *artifact.Store, words string, list ...offers.Artifact) {
	t.Helper()
	_, err := stage(t, s, list...)
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: the error is %v, want one sentence with %q", list, err, words)
	}
}

func TestPlainFiles(t *testing.T) {
	web := serve(t, says("hello"))
	s := open(t, artifact.Config{})
	dir, err := stage(t, s, offers.Artifact{URI: web.URL + "/a"}, offers.Artifact{URI: web.URL + "/b", Executable: true, Dest: "x/y/tool", SHA256: strings.ToUpper(sum("hello"))})
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a": 0o644, "x/y/tool": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode || info.Size() != 5 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	web := serve(t, says("hello"))
	dir := t.TempDir()
	err := open(t, artifact.Config{}).Stage(context.Background(), []offers.Artifact{{URI: web.URL + "/a", Dest: "x/y"}}, artifact.Target{Dir: dir, Owner: &record.User{UID: 1234, GID: 99}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "x/y"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, name), &st); err != nil || st.Uid != 1234 || st.Gid != 99 {
			t.Errorf("%s is of %d:%d, %v", name, st.Uid, st.Gid, err)
		}
	}
}

func TestHashIsChecked(t *testing.T) {
	web := serve(t, says("evil"))
	s := open(t, artifact.Config{})
	dir, err := stage(t, s, offers.Artifact{URI: web.URL + "/a", SHA256: sum("good")})
	if err == nil || !strings.Contains(err.Error(), sum("evil")) || !strings.Contains(err.Error(), "artifacts[0]") {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%v is in the sandbox", files)
	}
}

// TestSharing holds that those who want the same at the same time fetch it once.
func TestSharing(t *testing.T) {
	arrived, gate := make(chan struct{}, 1), make(chan struct{})
	web := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-gate
		_, _ = io.WriteString(w, "hello")
	})
	s := open(t, artifact.Config{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := staged(t, s, "a", offers.Artifact{URI: web.URL + "/a"}); got != "hello" {
				t.Errorf("got %q", got)
			}
		})
	}
	<-arrived
	for s.Waiting() < 20 {
		<-time.After(time.Millisecond)
	}
	close(gate)
	all.Wait()
	if n := web.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestWhenTheCacheIsUsed(t *testing.T) {
	version := "v1"
	for name, row := range map[string]struct {
		header, value, asks string
		sum                 bool
		bodies              int32
	}{
		"sha256":        {"", "", "", true, 1},
		"etag":          {"ETag", `"1"`, "If-None-Match", false, 1},
		"last modified": {"Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT", "If-Modified-Since", false, 1},
		"no mark":       {"", "", "", false, 3},
	} {
		var bodies atomic.Int32
		web := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if row.asks != "" && r.Header.Get(row.asks) == row.value {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			bodies.Add(1)
			if row.header != "" {
				w.Header().Set(row.header, row.value)
			}
			_, _ = io.WriteString(w, version)
		})
		c := artifact.Config{Dir: t.TempDir()}
		a := offers.Artifact{URI: web.URL + "/a"}
		if row.sum {
			a.SHA256 = sum(version)
		}
		for run := range 3 { // the last in another run of the agent
			if got := staged(t, open(t, c), "a", a); got != version {
				t.Errorf("%s: run %d got %q", name, run, got)
			}
		}
		if bodies.Load() != row.bodies {
			t.Errorf("%s: the content was sent %d times, want %d", name, bodies.Load(), row.bodies)
		}
	}
}

func TestChangedContentIsFetchedAnew(t *testing.T) {
	tag := `"1"`
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", tag)
		_, _ = io.WriteString(w, "content "+tag)
	})
	s := open(t, artifact.Config{})
	for _, tag = range []string{`"1"`, `"2"`, `"2"`, `"1"`} {
		if got := staged(t, s, "a", offers.Artifact{URI: web.URL + "/a"}); got != "content "+tag {
			t.Errorf("version %s: got %q", tag, got)
		}
	}
}

// TestDamagedCache cuts and flips what an earlier run has left.
func TestDamagedCache(t *testing.T) {
	web := serve(t, says("hello"))
	a := offers.Artifact{URI: web.URL + "/a", SHA256: sum("hello")}
	for name, damage := range map[string]string{"flipped": "hellp", "cut": "hel", "longer": "helloo"} {
		c := artifact.Config{Dir: t.TempDir()}
		staged(t, open(t, c), "a", a)
		if err := os.WriteFile(filepath.Join(c.Dir, sum("hello"), "data"), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := staged(t, open(t, c), "a", a); got != "hello" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestStrangersInTheCacheFolder holds that Open takes in only what it wrote.
func TestStrangersInTheCacheFolder(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"tmp/half", "x/data", sum("a") + "/names"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, artifact.Config{Dir: dir})
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestEviction(t *testing.T) {
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat(r.URL.Path[1:], 1000))
	})
	c := artifact.Config{Dir: t.TempDir(), Size: 3000}
	s := open(t, c)
	for _, name := range []string{"a", "b", "c", "a", "d", "e"} { // a is used again: b and c go
		staged(t, s, name, offers.Artifact{URI: web.URL + "/" + name})
	}
	var kept []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if _, err := os.Stat(filepath.Join(c.Dir, sum(strings.Repeat(name, 1000)), "data")); err == nil {
			kept = append(kept, name)
		}
	}
	if fmt.Sprint(kept) != "[a d e]" {
		t.Errorf("kept %v", kept)
	}
	c.Size = 1500
	open(t, c)
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "*", "data")); len(left) != 1 || !strings.Contains(left[0], sum(strings.Repeat("e", 1000))) {
		t.Errorf("a smaller cache keeps %v", left)
	}
}

// TestLeaving holds that a download ends when nobody waits for it any more,
// and not before.
func TestLeaving(t *testing.T) {
	arrived, gone := make(chan struct{}, 2), make(chan struct{}, 2)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	s := open(t, artifact.Config{})
	a := []offers.Artifact{{URI: web.URL + "/a"}}
	why := errors.New("killed")
	left := make(chan error, 2)
	var cancels []context.CancelCauseFunc
	for range 2 {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancels = append(cancels, cancel)
		dir := t.TempDir()
		go func() { left <- s.Stage(ctx, a, artifact.Target{Dir: dir}) }()
	}
	<-arrived
	for s.Waiting() < 2 {
		<-time.After(time.Millisecond)
	}
	for i, cancel := range cancels {
		if len(gone) > 0 {
			t.Fatalf("the download ended with %d waiting", 2-i)
		}
		cancel(why)
		if err := <-left; !errors.Is(err, why) {
			t.Error(err)
		}
	}
	<-gone
	if s.Waiting() != 0 {
		t.Error("somebody is still waited for")
	}
}

func TestBounds(t *testing.T) {
	s := open(t, artifact.Config{Size: 100})
	known := serve(t, says(strings.Repeat("x", 101)))
	refused(t, s, "larger than the 100 bytes", offers.Artifact{URI: known.URL + "/a"})
	endless := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 60)); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	})
	refused(t, s, "larger than the 100 bytes", offers.Artifact{URI: endless.URL + "/a"})
	if n := endless.asked.Load() + known.asked.Load(); n != 2 {
		t.Errorf("what is too large was asked for %d times", n)
	}
	dir := t.TempDir()
	hundred := serve(t, says(strings.Repeat("x", 100)))
	err := s.Stage(context.Background(), []offers.Artifact{{URI: hundred.URL + "/a"}, {URI: hundred.URL + "/b"}}, artifact.Target{Dir: dir, Disk: 150})
	if err == nil || !strings.Contains(err.Error(), "artifacts[1]") || !strings.Contains(err.Error(), "150 bytes of disk") {
		t.Error(err)
	}
}

func TestServersThatStall(t *testing.T) {
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	s := open(t, artifact.Config{Stall: 50 * time.Millisecond})
	refused(t, s, "stopped sending", offers.Artifact{URI: web.URL + "/body"})
	refused(t, s, "timeout", offers.Artifact{URI: web.URL + "/header"})
	whole := open(t, artifact.Config{Whole: 50 * time.Millisecond})
	refused(t, whole, "not there after 50ms", offers.Artifact{URI: web.URL + "/body"})
}

func TestTries(t *testing.T) {
	for _, row := range []struct {
		fails, status int
		words         string
		asked         int32
	}{
		{2, 503, "", 3}, {3, 503, "503", 3}, {1, 429, "", 2}, {1, 404, "404", 1}, {1, 403, "403", 1}, {1, 204, "204", 1},
	} {
		var seen atomic.Int32
		web := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if int(seen.Add(1)) <= row.fails {
				w.WriteHeader(row.status)
				return
			}
			_, _ = io.WriteString(w, "hello")
		})
		a := offers.Artifact{URI: web.URL + "/a"}
		if row.words == "" {
			staged(t, open(t, artifact.Config{}), "a", a)
		} else {
			refused(t, open(t, artifact.Config{}), row.words, a)
		}
		if web.asked.Load() != row.asked {
			t.Errorf("%d times %d: asked %d times", row.fails, row.status, web.asked.Load())
		}
	}
}

func TestCutConnection(t *testing.T) {
	first := true
	web := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		if first {
			first = false
			_, _ = io.WriteString(w, "he")
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "hello")
	})
	if got := staged(t, open(t, artifact.Config{}), "a", offers.Artifact{URI: web.URL + "/a"}); got != "hello" {
		t.Errorf("got %q", got)
	}
}
