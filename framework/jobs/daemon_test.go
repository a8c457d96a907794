package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// world is a fake cluster with the daemons that were started on it.
type world struct {
	tb      testing.TB
	cluster *frameworktest.Cluster
	serving sync.WaitGroup

	mu    sync.Mutex
	known []Known
}

func newWorld(tb testing.TB, cluster *frameworktest.Cluster) *world {
	w := &world{tb: tb, cluster: cluster}
	tb.Cleanup(w.serving.Wait)
	return w
}

func (w *world) Frameworks(context.Context) ([]Known, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known, nil
}

// start runs a daemon; stop ends it and waits.
func (w *world) start() (d *Daemon, stop func()) {
	w.tb.Helper()
	locked, err := door.Open(door.Config{Token: "sesame"})
	if err != nil {
		w.tb.Fatal(err)
	}
	d, err = Open(Config{Masters: []string{"m:1"}, HTTP: "127.0.0.1:0", Directory: w, Door: locked, connect: w.connect})
	if err != nil {
		w.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Ready()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.tb.Errorf("the daemon ended with %v", err)
			}
		})
	}
	w.tb.Cleanup(stop)
	return d, stop
}

func (w *world) connect(ctx context.Context, conf framework.Config) (*framework.Client, error) {
	conf.Dial = func(context.Context, string) (wire.Link, error) {
		ours, theirs := wire.Pipe(wire.Options{})
		w.serving.Go(func() {
			w.cluster.Serve(theirs)
			theirs.Close("the cluster breaks the connection")
		})
		return ours, nil
	}
	client, err := framework.Connect(ctx, conf)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.known = []Known{{ID: client.ID()}}
	}
	return client, err
}

// ask sends one request, again while the daemon does not work, and reads the
// answer.
func ask(tb testing.TB, d *Daemon, method, path, body string) (int, *Detail, string) {
	tb.Helper()
	for {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer sesame")
		w := httptest.NewRecorder()
		d.handler().ServeHTTP(w, r)
		if w.Code == http.StatusServiceUnavailable {
			sleep(tb.Context(), 10*time.Millisecond)
			continue
		}
		text := w.Body.String()
		detail := &Detail{}
		if err := json.Unmarshal(w.Body.Bytes(), detail); err != nil {
			tb.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
		return w.Code, detail, text
	}
}

// until follows a job until its run is in that state.
func until(tb testing.TB, d *Daemon, name string, want scheduler.RunState) *Detail {
	tb.Helper()
	var since uint64
	for {
		code, detail, text := ask(tb, d, "GET", fmt.Sprintf("/v1/jobs/%s?after=%d", name, since), "")
		if code != http.StatusOK {
			tb.Fatalf("%s: %d %s", name, code, text)
		}
		if detail.State == want {
			return detail
		}
		if detail.State.Ended() {
			tb.Fatalf("%s is %s, want %s: %s", name, detail.State, want, text)
		}
		since = detail.Changed
	}
}

func TestDaemonRunsABatch(t *testing.T) {
	w := newWorld(t, &frameworktest.Cluster{Run: func(task offers.Task) offers.Status {
		code := 0
		if task.Command.Env["RINGMASTER_INDEX"] == "1" && task.Command.Env["RINGMASTER_ATTEMPT"] == "1" {
			code = 3
			return offers.Status{State: offers.Failed, ExitCode: &code}
		}
		return offers.Status{State: offers.Finished, ExitCode: &code}
	}})
	d, stop := w.start()
	job := `{"name": "hello", "command": "true", "count": 5, "retries": 1, "backoff": {"first": "10ms"}}`
	if code, v, text := ask(t, d, "PUT", "/v1/jobs/hello", job); code != 200 || v.Run != 1 {
		t.Fatalf("%d %s", code, text)
	}
	done := until(t, d, "hello", scheduler.Complete)
	if done.Instances[1].Attempt != 2 || done.Instances[0].Attempt != 1 || done.Framework != "f1" {
		t.Errorf("it is %+v", done)
	}
	for n := range 100 { // the last end is acknowledged after the answer
		if w.cluster.Unacknowledged() == 0 {
			break
		}
		if n == 99 {
			t.Error("updates are not acknowledged")
		}
		sleep(t.Context(), 10*time.Millisecond)
	}
	stop()

	// The next one knows it.
	d, _ = w.start()
	if v := until(t, d, "hello", scheduler.Complete); v.Run != 1 || v.Total != 5 {
		t.Errorf("it is %+v", v)
	}
	if _, v, _ := ask(t, d, "PUT", "/v1/jobs/hello", job); v.Run != 2 || v.Version != 1 {
		t.Errorf("it is %+v", v)
	}
	until(t, d, "hello", scheduler.Complete)
	if code, _, text := ask(t, d, "POST", "/v1/jobs/hello/purge", "{}"); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	if code, _, text := ask(t, d, "GET", "/v1/jobs/hello", ""); code != 404 || !strings.Contains(text, "unknown_job") {
		t.Errorf("%d %s", code, text)
	}
}

func TestDaemonStopsAJob(t *testing.T) {
	w := newWorld(t, &frameworktest.Cluster{Run: func(offers.Task) offers.Status { return offers.Status{State: offers.Running} }})
	d, stop := w.start()
	if code, _, text := ask(t, d, "PUT", "/v1/jobs/long", `{"name": "long", "command": ["sleep", "9"], "count": 3}`); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	for until(t, d, "long", scheduler.Active).Counts["running"] < 3 {
		sleep(t.Context(), 10*time.Millisecond)
	}
	if code, _, text := ask(t, d, "POST", "/v1/jobs/long/purge", "{}"); code != 409 {
		t.Errorf("%d %s", code, text)
	}
	if code, _, text := ask(t, d, "PUT", "/v1/jobs/long", `{"name": "long", "command": ["sleep", "10"]}`); code != 409 || !strings.Contains(text, "job_running") {
		t.Errorf("%d %s", code, text)
	}
	stop()
	d, _ = w.start()
	for until(t, d, "long", scheduler.Active).Counts["running"] < 3 { // the masters have to tell
		sleep(t.Context(), 10*time.Millisecond)
	}
	ask(t, d, "POST", "/v1/jobs/long/stop", "{}")
	if v := until(t, d, "long", scheduler.Stopped); v.Counts["stopped"] != 3 {
		t.Errorf("it is %+v", v.View)
	}
}

// TestDaemonSurvivesItsConnections breaks connections before and after any
// message, and the daemon anew now and then; every instance ends well, and no
// task runs twice.
func TestDaemonSurvivesItsConnections(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		var mu sync.Mutex
		w := newWorld(t, &frameworktest.Cluster{Break: func(wire.Message, bool) bool {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(60) == 0
		}})
		d, stop := w.start()
		for range 3 {
			ask(t, d, "PUT", "/v1/jobs/many", `{"name": "many", "command": "true", "count": 60, "parallelism": 20}`)
			stop()
			d, stop = w.start()
		}
		v := until(t, d, "many", scheduler.Complete)
		for _, in := range v.Instances {
			if in.State != "done" {
				t.Errorf("seed %d: instance %d is %s", seed, in.Index, in.State)
			}
		}
		for id, runs := range w.cluster.Runs() {
			if runs > 1 {
				t.Errorf("seed %d: task %s ran %d times", seed, id, runs)
			}
		}
		stop()
	}
}

func TestDoorOfTheDaemon(t *testing.T) {
	w := newWorld(t, &frameworktest.Cluster{})
	d, _ := w.start()
	for _, c := range []struct {
		method, path, body, token, origin string
		want                              int
		says                              string
	}{
		{"GET", "/v1/jobs", "", "sesame", "", 200, ""},
		{"GET", "/v1/jobs", "", "", "", 401, ""},
		{"GET", "/v1/jobs", "", "sesame", "http://evil.example", 403, ""},
		{"PUT", "/v1/jobs/a", `{"name": "a", "command": "x"}`, "", "", 401, ""},
		{"PUT", "/v1/jobs/a", `{"name": "a", "command": "x"}`, "sesame", "http://evil.example", 403, ""},
		{"PUT", "/v1/jobs/a", `{"name": "b", "command": "x"}`, "sesame", "", 400, ""},
		{"PUT", "/v1/jobs/a", `{"name": "a", "commnd": "x"}`, "sesame", "", 400, ""},
		{"PUT", "/v1/jobs/a", `{"name": "a"}`, "sesame", "", 400, ""},
		{"PUT", "/v1/jobs/a", strings.Repeat(" ", maxBody+1), "sesame", "", 413, ""},
		{"PUT", "/v1/jobs/a", "", "sesame", "", 400, "a JSON object is needed, and there is nothing"},
		{"POST", "/v1/jobs/a/scale", `{"count": "a"}`, "sesame", "", 400, `"count: string can't stand here"`},
		{"POST", "/v1/jobs/a/scale", `{"cuont": 1}`, "sesame", "", 400, `unknown field`},
		{"POST", "/v1/jobs/a/scale", `{"count": 1}}`, "sesame", "", 400, "something follows"},
		{"POST", "/v1/jobs/a/scale", `{"count": 1, "count": 2}`, "sesame", "", 400, `is there twice`},
		{"POST", "/v1/jobs/a/rollback", `[]`, "sesame", "", 400, `"a JSON object is needed, not an array"`},
		{"POST", "/v1/jobs/a/rollback", ``, "sesame", "", 400, "a JSON object is needed, and there is nothing"},
		{"POST", "/v1/jobs/a/stop", "", "sesame", "", 404, ""},
		{"POST", "/v1/jobs/a/dance", "", "sesame", "", 404, ""},
		{"GET", "/v1/jobs/a?after=x", "", "sesame", "", 400, ""},
		{"GET", "/v1/jobs/a?brief=7", "", "sesame", "", 400, `brief is \"7\"; it is true or false`},
		{"GET", "/v1/jobs/a?brief=1", "", "sesame", "", 404, ""},
		{"GET", "/healthz", "", "", "", 200, ""},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer := httptest.NewRecorder()
		d.handler().ServeHTTP(answer, r)
		if answer.Code != c.want || !strings.Contains(answer.Body.String(), c.says) {
			t.Errorf("%s %s %.40s: %d %s, want %d with %s", c.method, c.path, c.body, answer.Code, answer.Body, c.want, c.says)
		}
	}
}

// TestStillBodies: a request whose body stands still ends as it does at a master.
func TestStillBodies(t *testing.T) {
	w := httptest.NewRecorder()
	fail(w, fmt.Errorf("read the job: %w", door.ErrStill))
	if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "nothing more of the request's body came for 30s") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
