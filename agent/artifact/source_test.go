package artifact_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/artifact"
	"github.com/ringmaster-project/ringmaster/offers"
)

func write(t testing.TB, content string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func link(t testing.TB, target string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFilesOfTheHost(t *testing.T) {
	dir := t.TempDir()
	inside, outside := write(t, "in", dir, "root", "sub", "a"), write(t, "out", dir, "outside", "b")
	if err := syscall.Mkfifo(filepath.Join(dir, "root", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	rootLink := link(t, filepath.Join(dir, "root"), dir, "alias")
	s := open(t, artifact.Config{Roots: []string{rootLink}})
	for _, path := range []string{
		inside, rootLink + "/sub/a", link(t, inside, dir, "root", "absolute"), link(t, "sub/a", dir, "root", "relative"),
		link(t, inside, dir, "outside", "back"), filepath.Join(dir, "root") + "/sub/../sub/a",
	} {
		if got := staged(t, s, "x", offers.Artifact{URI: "file://" + path, Dest: "x"}); got != "in" {
			t.Errorf("%s: got %q", path, got)
		}
	}
	for _, path := range []string{
		outside, link(t, outside, dir, "root", "leads-out"), link(t, "../outside/b", dir, "root", "leads-out-too"), dir + "/root/../outside/b",
		dir + "/root/absent", dir + "/outside/absent", link(t, dir+"/outside", dir, "root", "folder") + "/b",
	} {
		refused(t, s, "no such file in the folders", offers.Artifact{URI: "file://" + path, Dest: "x"})
	}
	refused(t, s, "not a plain file", offers.Artifact{URI: "file://" + dir + "/root/pipe"})
	refused(t, s, "not a plain file", offers.Artifact{URI: "file://" + dir + "/root/sub"})
	refused(t, open(t, artifact.Config{}), "artifact_roots", offers.Artifact{URI: "file://" + inside})
	if _, err := artifact.Open(artifact.Config{Dir: t.TempDir(), Roots: []string{dir + "/absent"}}); err == nil {
		t.Error("a root that is not there is taken")
	}
	if _, err := artifact.Open(artifact.Config{Dir: t.TempDir(), Roots: []string{inside}}); err == nil {
		t.Error("a root that is a file is taken")
	}
}

func TestFileThatChanges(t *testing.T) {
	dir := t.TempDir()
	s := open(t, artifact.Config{Roots: []string{dir}})
	for _, content := range []string{"one", "two", "two"} {
		path := write(t, content, dir, "a")
		if got := staged(t, s, "a", offers.Artifact{URI: "file://" + path}); got != content {
			t.Errorf("got %q, want %q", got, content)
		}
	}
}

func TestMetadataServices(t *testing.T) {
	s := open(t, artifact.Config{})
	for _, uri := range []string{"http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/x", "http://[fd00:ec2::254]/x"} {
		refused(t, s, "metadata service", offers.Artifact{URI: uri})
	}
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	refused(t, s, "metadata service", offers.Artifact{URI: web.URL + "/a"})
	if web.asked.Load() != 1 {
		t.Errorf("it was tried %d times", web.asked.Load())
	}
}

// TestSecretsStayOut holds that no failure tells credentials, of the URI or of
// where a server redirects to.
func TestSecretsStayOut(t *testing.T) {
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			http.NotFound(w, r)
		case "/bad":
			w.Header().Set("Location", "http://secret:secret@%zz/?secret")
			w.WriteHeader(http.StatusFound)
		case "/away":
			w.Header().Set("Location", "http://secret:secret@127.0.0.1:1/x?secret")
			w.WriteHeader(http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///secret")
			w.WriteHeader(http.StatusFound)
		case "/meta":
			w.Header().Set("Location", "http://169.254.1.1/secret")
			w.WriteHeader(http.StatusFound)
		}
	})
	host := strings.TrimPrefix(web.URL, "http://")
	s := open(t, artifact.Config{})
	for _, path := range []string{"404", "bad", "away", "file", "meta"} {
		_, err := stage(t, s, offers.Artifact{URI: "http://secret:secret@" + host + "/" + path + "?token=secret#secret"})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestCredentialsOfTheURI holds that they reach the server that they are for
// and no other.
func TestCredentialsOfTheURI(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("the next server sees %v", r.Header)
		}
		_, _ = io.WriteString(w, "hello")
	})
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			t.Errorf("the server is asked by %q, %q", user, password)
		}
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/x", http.StatusFound)
	})
	staged(t, open(t, artifact.Config{}), "a", offers.Artifact{URI: strings.Replace(web.URL, "://", "://u:p@", 1) + "/a?q"})
}
