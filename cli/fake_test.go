package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ringmaster-project/ringmaster/cli"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringmaster": func() {
			os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// fake answers as INTERFACE says a leading master does, from the files of
// testdata/fake, and remembers what it was told to do.
type fake struct {
	*httptest.Server
	token string

	launched chan offers.TaskID // a launch each
	asked    chan struct{}      // a look at the status each

	mu      sync.Mutex
	orders  []string
	pages   bool // lists come one item a page
	refused int  // logs of an agent that is away
}

func newFake(tb testing.TB, token string) *fake {
	tb.Helper()
	f := &fake{token: token, launched: make(chan offers.TaskID, 100), asked: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	for _, list := range []string{"masters", "agents", "frameworks", "tasks", "offers", "rings", "roles", "jobs"} {
		mux.HandleFunc("GET /v1/"+list, func(w http.ResponseWriter, r *http.Request) { f.list(w, r, list) })
		mux.HandleFunc("GET /v1/"+list+"/{id}", func(w http.ResponseWriter, r *http.Request) { f.one(w, list, r.PathValue("id")) })
	}
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		f.file(w, "status")
		f.asked <- struct{}{}
	})
	mux.HandleFunc("GET /v1/explain", f.explain)
	mux.HandleFunc("GET /v1/tasks/{id}/logs", f.logs)
	mux.HandleFunc("GET /v1/tasks/{id}/files/{path...}", sandboxFile)
	mux.HandleFunc("GET /v1/tasks/{id}/exec", f.exec)
	mux.HandleFunc("GET /v1/events", f.events)
	mux.HandleFunc("GET /v1/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ringmaster state\x01")) // and nothing follows
	})
	frameworks := frameworktest.NewMaster(tb)
	frameworks.Serve(func(link wire.Link) { (&frameworktest.Cluster{Run: f.run}).Serve(link) })
	mux.Handle("GET /v1/framework", frameworks)
	mux.HandleFunc("POST /", f.order)
	mux.HandleFunc("PUT /", f.order)
	f.Server = httptest.NewServer(f.admit(mux))
	tb.Cleanup(f.Close)
	return f
}

// sandboxFile answers for a sandbox with stdout and a folder "out files".
func sandboxFile(w http.ResponseWriter, r *http.Request) {
	switch path := r.PathValue("path"); path {
	case "":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"files":[{"name":"out files","size":4096,"mode":"drwxr-xr-x","modified":"2020-01-01T00:00:00Z","dir":true},{"name":"stdout","size":2048,"mode":"-rw-r--r--","modified":"2020-01-01T00:00:00Z","dir":false}]}`)
	case "out files/a?.json":
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprintln(w, `{"files":[]}`)
	case "empty":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"files":[]}`)
	case "cut":
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "four")
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"code":"unknown_task","message":"there is no file %s in the sandbox of task %s"}}`, path, r.PathValue("id"))
	}
}

// exec answers a command's first word as an agent would: it is told what to run,
// and then what comes in. "nosuch" is not
// found, "cut" ends without an end.
func (f *fake) exec(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.PathValue("id"), "build-8") {
		refuse(w, http.StatusConflict, "task_not_running", "task "+r.PathValue("id")+" does not run")
		return
	}
	link, err := wire.Upgrade(w, r, wire.ExecProtocol, wire.ExecOptions)
	if err != nil {
		return // it has been answered
	}
	defer link.Close("done")
	say := func(m wire.Message) {
		if frame, err := wire.Encode(m, ""); err == nil {
			_ = link.Send(frame)
		}
	}
	for {
		frame, err := link.Receive()
		if err != nil {
			return
		}
		switch m, _, _ := wire.Decode(wire.FromExec, frame); m := m.(type) {
		case *wire.ExecStart:
			switch m.Argv[0] {
			case "cut":
				return
			case "nosuch":
				say(&wire.ExecExit{Code: 127, Message: "there is no program nosuch"})
				continue
			}
			say(&wire.ExecOutput{Stream: "stderr", Data: fmt.Appendf(nil, "%q of %s, terminal %v\n", m.Argv, r.PathValue("id"), m.Terminal != nil)})
		case *wire.ExecInput:
			say(&wire.ExecTaken{Messages: 1})
			say(&wire.ExecOutput{Stream: "stdout", Data: m.Data})
			if m.End {
				say(&wire.ExecExit{Code: 3}) // the client leaves then
			}
		}
	}
}

// explain finds room for two units of any wish but one for 1000 cpus, for one unit
// of the demand gang, and lists what waits where nothing is asked of. The framework
// of the demand quiet wants no offers.
func (f *fake) explain(w http.ResponseWriter, r *http.Request) {
	wish := r.FormValue("wish")
	switch {
	case wish == "" && r.FormValue("demand") == "":
		f.file(w, "waiting")
	case strings.Contains(wish, `"cpus":1000`), r.FormValue("demand") == "stuck":
		f.file(w, "missed")
	case r.FormValue("demand") == "gang", r.FormValue("demand") == "quiet":
		f.file(w, r.FormValue("demand"))
	default:
		f.file(w, "found")
	}
}

// logs writes a first half, breaks off where it is asked for all of it, and
// goes on from an offset. The agent of tasks called so is away for some seconds.
func (f *fake) logs(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.PathValue("id"), "agent-away") {
		f.mu.Lock()
		f.refused++
		away := f.refused < 60
		f.mu.Unlock()
		if away {
			refuse(w, http.StatusBadGateway, "unavailable", "agent ag-0001 does not answer")
			return
		}
	}
	text := fmt.Sprintf("%s of %s, follow=%s\n", r.FormValue("stream"), r.PathValue("id"), r.FormValue("follow"))
	offset := 0
	_, _ = fmt.Sscan(r.FormValue("offset"), &offset)
	if strings.Contains(r.PathValue("id"), "broken") && offset == 0 {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write([]byte(text[:6]))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte(text[offset:]))
}

// events writes three events after the one that is asked for and breaks off;
// without follow it writes all that are left. Then nothing more comes.
func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	if id := r.FormValue("framework") + r.FormValue("task"); id == "fw-2" {
		refuse(w, http.StatusNotFound, "unknown_framework", "there is no framework "+id)
		return
	}
	text, err := os.ReadFile(filepath.Join("testdata", "fake", "events.txt"))
	if err != nil {
		refuse(w, http.StatusNotFound, "internal", err.Error())
		return
	}
	blocks := strings.SplitAfter(string(text), "\n\n")
	if after := r.FormValue("after"); after != "" && after != "oldest" {
		at := slices.IndexFunc(blocks, func(b string) bool { return strings.HasPrefix(b, "id: "+after+"\n") })
		blocks = blocks[at+1:]
	}
	follow := r.FormValue("follow") != "false"
	for i, b := range blocks {
		_, _ = io.WriteString(w, b)
		w.(http.Flusher).Flush()
		if i == 3 && follow {
			panic(http.ErrAbortHandler)
		}
	}
	if follow {
		f.asked <- struct{}{}
		<-r.Context().Done()
	}
}

// run ends a task as its arguments say.
func (f *fake) run(t offers.Task) offers.Status {
	f.launched <- t.ID
	code := 0
	switch argv := t.Command.Argv; argv[0] {
	case "exit":
		_, _ = fmt.Sscan(argv[1], &code)
		if argv[1] == "index" {
			_, _ = fmt.Sscan(string(t.ID[strings.LastIndexByte(string(t.ID), '-')+1:]), &code)
		}
		if code != 0 {
			return offers.Status{State: offers.Failed, ExitCode: &code}
		}
	case "signal":
		return offers.Status{State: offers.Failed, Signal: argv[1], Reason: offers.ReasonMemoryLimit, Message: "it used more memory than it asked for"}
	case "stay":
		return offers.Status{State: offers.Running}
	case "missing":
		return offers.Status{State: offers.Rejected, Reason: offers.ReasonBadTask, Message: "there is no such program"}
	}
	return offers.Status{State: offers.Finished, ExitCode: &code}
}

func (f *fake) address() string { return f.Listener.Addr().String() }

func (f *fake) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
			refuse(w, http.StatusUnauthorized, "unauthenticated", "read needs the cluster's token: give it with --token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": {"code": %q, "message": %q}}`, code, message)
}

func (f *fake) file(w http.ResponseWriter, name string) []byte {
	text, err := os.ReadFile(filepath.Join("testdata", "fake", name+".json"))
	if err != nil {
		refuse(w, http.StatusNotFound, "internal", err.Error())
		return nil
	}
	if w != nil {
		_, _ = w.Write(text)
	}
	return text
}

func items(list string) (map[string]json.RawMessage, []json.RawMessage, string) {
	key := list
	if list == "rings" {
		key = "resources"
	}
	text, err := os.ReadFile(filepath.Join("testdata", "fake", list+".json"))
	var whole map[string]json.RawMessage
	var all []json.RawMessage
	if err == nil && json.Unmarshal(text, &whole) == nil {
		_ = json.Unmarshal(whole[key], &all)
	}
	return whole, all, key
}

func (f *fake) list(w http.ResponseWriter, r *http.Request, list string) {
	whole, all, key := items(list)
	for _, filter := range []string{"state", "role", "framework", "agent", "resource"} {
		want := r.FormValue(filter)
		field := map[string]string{"framework": "framework_id", "agent": "agent_id"}[filter]
		if field == "" {
			field = filter
		}
		if filter == "resource" {
			field = "name"
		}
		if list == "roles" && filter == "role" {
			field = "name"
		}
		all = slices.DeleteFunc(all, func(raw json.RawMessage) bool {
			var have map[string]any
			_ = json.Unmarshal(raw, &have)
			return want != "" && have[field] != want
		})
	}
	if list == "rings" && len(all) == 0 {
		refuse(w, http.StatusNotFound, "bad_message", fmt.Sprintf("there are no rings of %q; there are cpus, mem", r.FormValue("resource")))
		return
	}
	f.mu.Lock()
	pages := f.pages
	f.mu.Unlock()
	if pages && len(all) > 1 {
		at := 0
		_, _ = fmt.Sscan(r.FormValue("next"), &at)
		if at+1 < len(all) {
			whole["next"], _ = json.Marshal(fmt.Sprint(at + 1))
		}
		all = all[at : at+1]
	}
	if all == nil {
		all = []json.RawMessage{}
	}
	whole[key], _ = json.Marshal(all)
	_ = json.NewEncoder(w).Encode(whole)
}

func (f *fake) one(w http.ResponseWriter, list, id string) {
	_, all, _ := items(list)
	var found []json.RawMessage
	for _, raw := range all {
		var t struct {
			ID        string `json:"id"`
			Framework string `json:"framework_id"`
		}
		_ = json.Unmarshal(raw, &t)
		if t.ID == id || t.Framework+":"+t.ID == id {
			found = append(found, raw)
		}
	}
	switch {
	case strings.HasPrefix(id, "shared:"):
		refuse(w, http.StatusConflict, "bad_message", id+" is 2 tasks (fw-1:web, fw-2:web): give more of the id, or the framework's")
	case len(found) == 0:
		refuse(w, http.StatusNotFound, "unknown_task", "there is no "+id)
	case len(found) == 1:
		_, _ = w.Write(found[0])
	default:
		refuse(w, http.StatusConflict, "bad_message", id+" is the beginning of several ids")
	}
}

func (f *fake) order(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body)))
	if strings.HasPrefix(r.URL.Path, "/v1/roles/full") {
		refuse(w, http.StatusUnprocessableEntity, "bad_resources", "quota.guarantee.cpus passes quota.limit.cpus")
		return
	}
	if name, job := strings.CutPrefix(r.URL.Path, "/v1/jobs/"); job {
		name, _, _ = strings.Cut(name, "/")
		f.one(w, "jobs", name)
		return
	}
	if id, _, drained := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/agents/"), "/drain"); drained && id == "ag-0002" {
		_, _ = w.Write([]byte(`{"id": "ag-0002", "state": "unreachable"}`))
		return
	}
	_, _ = w.Write([]byte("{}"))
}

// TestScripts runs the command lines of testdata/script against a fake.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			f := newFake(t, "")
			locked := newFake(t, "sesame")
			follower := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, locked.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			}))
			env.Defer(follower.Close)
			env.Values["fake"] = f
			env.Setenv("RINGMASTER_MASTERS", f.address())
			env.Setenv("LOCKED", locked.address())
			env.Setenv("FOLLOWER", follower.Listener.Addr().String())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"orders":   orders,
			"launched": func(ts *testscript.TestScript, _ bool, _ []string) { <-ts.Value("fake").(*fake).launched },
			"asked":    func(ts *testscript.TestScript, _ bool, _ []string) { <-ts.Value("fake").(*fake).asked },
			"pages": func(ts *testscript.TestScript, _ bool, _ []string) {
				f := ts.Value("fake").(*fake)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.pages = true
			},
		},
	})
}

// orders FILE compares what the fake was told with a file of the script.
func orders(ts *testscript.TestScript, neg bool, args []string) {
	f := ts.Value("fake").(*fake)
	f.mu.Lock()
	defer f.mu.Unlock()
	got := strings.Join(f.orders, "\n")
	want := strings.TrimSpace(ts.ReadFile(args[0]))
	if (got == want) == neg {
		ts.Fatalf("the master was told\n%s\nwant\n%s", got, want)
	}
}
