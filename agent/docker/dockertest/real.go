package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Socket is where the host's engine is looked for.
const Socket = "/var/run/docker.sock"

// Real is an engine that runs containers.
type Real struct {
	Socket string

	t    testing.TB
	http http.Client
	dir  string
}

func newReal(t testing.TB, socket string) *Real {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("these tests hand sandboxes to containers: root is needed")
	}
	return &Real{t: t, Socket: socket, dir: Folder(t), http: http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}}
}

// Open returns the host's engine, or skips the test where there is none.
func Open(t testing.TB) *Real {
	t.Helper()
	r := newReal(t, Socket)
	if err := r.ping(); err != nil {
		t.Skipf("no Docker engine answers at %s: %v", Socket, err)
	}
	return r
}

func (r *Real) ping() error {
	limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return err
	}
	answer, err := r.http.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Folder returns a folder that every user can enter, unlike t.TempDir's.
func Folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Do makes one request; out may be nil. It returns the status.
func (r *Real) Do(method, path string, query url.Values, in io.Reader, out any) int {
	r.t.Helper()
	u := url.URL{Scheme: "http", Host: "docker", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequest(method, u.String(), in)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.http.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		r.t.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
	return answer.StatusCode
}

// Program builds the program that Image holds, for the host.
func (r *Real) Program() string {
	r.t.Helper()
	path := filepath.Join(r.dir, "busy")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	_, self, _, _ := runtime.Caller(0)
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, ".")
	build.Dir = filepath.Join(filepath.Dir(self), "testdata", "busy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	return path
}

var images atomic.Int64

// Image makes an image of the program alone, with those lines of a Dockerfile,
// and returns its name, which no other test has. It goes with the test.
func (r *Real) Image(name string, lines ...string) string {
	r.t.Helper()
	code, err := os.ReadFile(r.Program())
	if err != nil {
		r.t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"busy", 0o755, code},
		{"etc/passwd", 0o644, []byte("root:x:0:0::/:\nworker:x:4711:4712::/:\n")},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg}); err != nil {
			r.t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	tag := fmt.Sprintf("test%d-%d", os.Getpid(), images.Add(1))
	query := url.Values{"fromSrc": {"-"}, "repo": {name}, "tag": {tag}, "changes": append([]string{`ENTRYPOINT ["/busy"]`}, lines...)}
	if status := r.Do(http.MethodPost, "/images/create", query, &archive, nil); status != http.StatusOK {
		r.t.Fatalf("the image can't be imported: %d", status)
	}
	r.t.Cleanup(func() { r.Do(http.MethodDelete, "/images/"+name+":"+tag, url.Values{"force": {"true"}}, nil, nil) })
	return name + ":" + tag
}

// RunDetached does what docker run -d does, with a folder as a task's sandbox:
// it creates and starts a container. It returns how long that took, and removes
// the container.
func (r *Real) RunDetached(image, sandbox string, args ...string) time.Duration {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{
		"Image": image, "Cmd": args,
		"HostConfig": map[string]any{"NetworkMode": "none", "Mounts": []map[string]string{{"Type": "bind", "Source": sandbox, "Target": "/ringmaster/sandbox"}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var made struct {
		ID string `json:"Id"`
	}
	begin := time.Now()
	r.Do(http.MethodPost, "/containers/create", nil, bytes.NewReader(body), &made)
	status := r.Do(http.MethodPost, "/containers/"+made.ID+"/start", nil, nil, nil)
	took := time.Since(begin)
	if status != http.StatusNoContent {
		r.t.Fatalf("the start is answered with %d", status)
	}
	r.Do(http.MethodDelete, "/containers/"+made.ID, url.Values{"force": {"true"}}, nil, nil)
	return took
}

// Labelled returns the ids of the containers with a label, and cleans them up
// after the test.
func (r *Real) Labelled(label string) []string {
	r.t.Helper()
	var all []struct {
		ID string `json:"Id"`
	}
	r.Do(http.MethodGet, "/containers/json", url.Values{"all": {"true"}, "filters": {`{"label":["` + label + `"]}`}}, nil, &all)
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

// CleanUp removes the containers with a label after the test.
func (r *Real) CleanUp(label string) {
	r.t.Cleanup(func() {
		for _, id := range r.Labelled(label) {
			r.Do(http.MethodDelete, "/containers/"+id, url.Values{"force": {"true"}, "v": {"true"}}, nil, nil)
		}
	})
}

// Processes counts the host's processes that have a word which begins like that
// in their command line.
func Processes(t testing.TB, word string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte("\x00"+word)) { // it may have ended meanwhile
			n++
		}
	}
	return n
}
