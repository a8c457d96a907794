package agent_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// depot serves artifacts; those under /slow/ come once the gate opens.
type depot struct {
	*httptest.Server
	asked, left atomic.Int32
	arrived     chan struct{}
	gate        chan struct{}
}

func newDepot(t testing.TB, content map[string][]byte) *depot {
	d := &depot{arrived: make(chan struct{}, 100), gate: make(chan struct{})}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/slow/") {
			d.arrived <- struct{}{}
			select {
			case <-d.gate:
			case <-r.Context().Done():
				d.left.Add(1)
				return
			}
		}
		data, ok := content[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(d.Close)
	return d
}

func archive(t testing.TB, name, content string, mode int64) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	_, err := io.WriteString(w, content)
	for _, c := range []io.Closer{w, zipped} {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestArtifacts runs a program out of an archive that reads a file beside it.
func TestArtifacts(t *testing.T) {
	tool := archive(t, "bin/tool", "#!/bin/sh\n. ./conf/setting\nexit $CODE\n", 0o755)
	d := newDepot(t, map[string][]byte{"/tool.tgz": tool, "/setting": []byte("CODE=7\n")})
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	artifacts := []offers.Artifact{{URI: d.URL + "/tool.tgz", Extract: true, SHA256: hashOf(tool)}, {URI: d.URL + "/setting", Dest: "conf/", SHA256: hashOf([]byte("CODE=7\n"))}}
	for n := range 5 {
		task := offers.Task{ID: offers.TaskID(fmt.Sprint("t", n)), Command: &offers.Command{Argv: []string{"bin/tool"}}, Artifacts: artifacts}
		l.launch(1, task)
		for _, want := range []offers.State{offers.Starting, offers.Running, offers.Failed} {
			if s := l.status(task.ID); s.State != want || want == offers.Failed && (s.ExitCode == nil || *s.ExitCode != 7) {
				t.Fatalf("%s is %+v, want it %s", task.ID, s, want)
			}
		}
	}
	if n := d.asked.Load(); n != 2 {
		t.Errorf("two files were asked for %d times by five tasks", n)
	}
}

func TestArtifactThatFails(t *testing.T) {
	d := newDepot(t, map[string][]byte{"/page": []byte("<html>")})
	m, dir := newMaster(t), t.TempDir()
	run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	for id, row := range map[offers.TaskID]struct {
		artifact offers.Artifact
		words    string
	}{
		"absent":  {offers.Artifact{URI: strings.Replace(d.URL, "://", "://u:secret@", 1) + "/absent?secret"}, "404 Not Found"},
		"hash":    {offers.Artifact{URI: d.URL + "/page", SHA256: hashOf(nil)}, "sha256"},
		"archive": {offers.Artifact{URI: d.URL + "/page", Extract: true}, "not a whole tar, tar.gz or zip"},
		"meta":    {offers.Artifact{URI: "http://169.254.169.254/latest"}, "metadata"},
		"file":    {offers.Artifact{URI: "file:///etc/passwd"}, "artifact_roots"},
	} {
		task := shell(id, "echo ran > ../ran")
		task.Artifacts = []offers.Artifact{row.artifact}
		l.launch(1, task)
		s := l.end(id)
		if s.State != offers.Failed || s.Reason != offers.ReasonArtifact || !strings.Contains(s.Message, row.words) || !strings.HasPrefix(s.Message, "artifacts[0]") || strings.Contains(s.Message, "secret") {
			t.Errorf("%s: %+v", id, s)
		}
	}
	l.launch(1, shell("marker", "test ! -e ../ran"))
	if s := l.end("marker"); s.State != offers.Finished {
		t.Error("a task ran without its artifact")
	}
}

func TestFilesOfConfiguredRoots(t *testing.T) {
	m, root := newMaster(t), t.TempDir()
	touch(t, filepath.Join(root, "model"))
	c := config(t, t.TempDir(), m)
	c.ArtifactRoots = []string{root}
	run(t, c)
	l, _ := m.welcome("a1", 1)
	task := shell("t", "test -e model")
	task.Artifacts = []offers.Artifact{{URI: "file://" + root + "/model"}}
	l.launch(1, task)
	if s := l.end("t"); s.State != offers.Finished {
		t.Errorf("%+v", s)
	}
}

// TestWhatIsFetchedIsTold: a task whose artifacts take long says which it waits
// for, without what may be secret of it.
func TestWhatIsFetchedIsTold(t *testing.T) {
	d := newDepot(t, map[string][]byte{"/slow/a": []byte("hello\n"), "/slow/b": nil, "/quick": nil})
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	task := shell("t", "cat a")
	task.Artifacts = []offers.Artifact{{URI: d.URL + "/quick"}, {URI: d.URL + "/slow/a?secret"}, {URI: d.URL + "/slow/b"}}
	l.launch(1, task)
	want := "artifacts[1] (" + d.URL + "/slow/a) is fetched, and 1 more"
	if s := l.status("t"); s.State != offers.Staging || s.Message != want {
		t.Errorf("%+v, want it to say %s", s, want)
	}
	close(d.gate)
	for _, want := range []offers.State{offers.Starting, offers.Running, offers.Finished} {
		if s := l.status("t"); s.State != want || s.Message != "" {
			t.Errorf("%+v, want it %s", s, want)
		}
	}
}

// TestKillWhileFetching holds that a kill ends the download too, and that tasks
// that wait for theirs keep no other from starting.
func TestKillWhileFetching(t *testing.T) {
	d := newDepot(t, nil)
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.welcome("a1", 1)
	const many = 60 // more than are prepared at a time
	for n := range many {
		task := shell(offers.TaskID(fmt.Sprint("t", n)), "true")
		task.Artifacts = []offers.Artifact{{URI: d.URL + "/slow/a"}}
		l.launch(1, task)
	}
	<-d.arrived
	l.launch(1, shell("quick", "true"))
	if s := l.end("quick"); s.State != offers.Finished {
		t.Errorf("%+v", s)
	}
	for n := range many {
		l.say(&wire.KillTask{Term: 1, TaskRef: ref(offers.TaskID(fmt.Sprint("t", n))), Reason: "asked"})
	}
	for n := range many {
		if s := l.end(offers.TaskID(fmt.Sprint("t", n))); s.State != offers.Killed || s.Reason != "asked" {
			t.Errorf("%+v", s)
		}
	}
	eventually(t, "the download goes on", func() bool { return d.left.Load() == 1 })
}

// TestRestartWhileFetching ends and kills agents in the middle of a download.
// The next one fetches anew, and the task starts once.
func TestRestartWhileFetching(t *testing.T) {
	d := newDepot(t, map[string][]byte{"/slow/a": []byte("hello\n")})
	m, dir := newMaster(t), t.TempDir()
	h := run(t, config(t, dir, m))
	l, _ := m.welcome("a1", 1)
	task := shell("t", "cat a; echo started >> ../starts")
	task.Artifacts = []offers.Artifact{{URI: d.URL + "/slow/a"}}
	l.launch(1, task)
	<-d.arrived
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	killed := spawn(t, dir, m)
	m.welcome("a1", 2)
	<-d.arrived
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	run(t, config(t, dir, m))
	l, register := m.welcome("a1", 3)
	if len(register.Tasks) != 1 || register.Tasks[0].State != offers.Staging {
		t.Errorf("registered %+v", register.Tasks)
	}
	l.launch(3, task)
	<-d.arrived
	close(d.gate)
	for _, want := range []offers.State{offers.Starting, offers.Running, offers.Finished} {
		s := l.status("t")
		for s.State == offers.Staging { // it may say what is fetched
			s = l.status("t")
		}
		if s.State != want {
			t.Errorf("%+v, want it %s", s, want)
		}
	}
	if got := await(t, filepath.Join(dir, "sandboxes", "f1", "starts")); got != "started" {
		t.Errorf("starts: %q", got)
	}
	if got := await(t, filepath.Join(sandboxOf(dir, "t"), "stdout")); got != "hello" {
		t.Errorf("it saw %q", got)
	}
}
