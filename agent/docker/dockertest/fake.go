package dockertest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fake is an engine that is made up. Its containers run until they are killed
// or the test ends them, and write nothing.
type Fake struct {
	Socket string

	t      testing.TB
	server *http.Server // nil while it is away

	mu         sync.Mutex
	before     func(request string) // called before a request is served, such as "POST start"
	after      func(request string) // and after it
	drop       string               // the request that is obeyed and not answered, once
	oldest     string               // version that it speaks at least
	newest     string
	versions   map[string]bool // that it was spoken to in
	images     map[string]bool
	refusal    string        // what a pull ends with
	pulls      []string      // images that were asked for
	stuck      chan struct{} // a pull waits for its end
	taken      int
	injects    []string
	containers map[string]*fakeContainer
	starts     map[string]int // by the container's name
	signals    []string
	past       []map[string]any
}

type fakeContainer struct {
	id, name, state string
	code            int
	labels          map[string]string
	ended           chan struct{}
	body            map[string]any
}

// NewFake returns an engine that has the image.
func NewFake(t testing.TB, images ...string) *Fake {
	f := &Fake{
		t: t, Socket: filepath.Join(t.TempDir(), "docker.sock"), oldest: "1.24", newest: "1.51", versions: map[string]bool{},
		images: map[string]bool{}, containers: map[string]*fakeContainer{}, starts: map[string]int{},
	}
	for _, i := range images {
		f.images[i] = true
	}
	f.ComeBack()
	t.Cleanup(func() { f.Leave() })
	return f
}

// ComeBack serves.
func (f *Fake) ComeBack() {
	f.t.Helper()
	l, err := net.Listen("unix", f.Socket)
	if err != nil {
		f.t.Fatal(err)
	}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go f.server.Serve(l) //nolint:errcheck // ends with Leave
}

// Leave ends every connection and serves none.
func (f *Fake) Leave() {
	if f.server != nil {
		_ = f.server.Close() // its connections go whatever it says
		f.server = nil
	}
}

// Set changes the fake under its lock.
func (f *Fake) Set(change func(s *Settings)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Settings{Before: f.before, After: f.after, Drop: f.drop, Oldest: f.oldest, Newest: f.newest, Refusal: f.refusal, Stuck: f.stuck, Taken: f.taken, Injects: f.injects}
	change(&s)
	f.before, f.after, f.drop, f.oldest, f.newest, f.refusal, f.stuck, f.taken, f.injects = s.Before, s.After, s.Drop, s.Oldest, s.Newest, s.Refusal, s.Stuck, s.Taken, s.Injects
}

// Settings are how a fake behaves.
type Settings struct {
	Before  func(request string) // called before a request is served, such as "POST start"
	After   func(request string) // and after it
	Drop    string               // such a request is obeyed and not answered, once
	Oldest  string               // version of the interface
	Newest  string
	Refusal string        // what a pull ends with; "" lets it succeed
	Stuck   chan struct{} // a pull waits for its close; nil: it does not
	Injects []string      // folders with specifications of devices that it injects
	Taken   int           // so often a name is taken by a container that is not there yet
}

// Seen is what has happened to a fake.
type Seen struct {
	Pulls    []string
	Starts   map[string]int // by the container's name
	Signals  []string
	Versions map[string]bool
	Left     []string                  // ids of the containers
	Created  map[string]map[string]any // what each was made of
}

// Seen returns what has happened.
func (f *Fake) Seen() Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Seen{Pulls: f.pulls, Starts: map[string]int{}, Signals: f.signals, Versions: f.versions, Created: map[string]map[string]any{}}
	for name, n := range f.starts {
		s.Starts[name] = n
	}
	for id, c := range f.containers {
		s.Left = append(s.Left, id)
		s.Created[id] = c.body
	}
	return s
}

// End ends a running container.
func (f *Fake) End(id string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		f.end(c, code)
	}
}

// Start starts a container.
func (f *Fake) Start(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		f.start(c)
	}
}

func (f *Fake) start(c *fakeContainer) {
	c.state, c.ended = "running", make(chan struct{})
	f.starts[c.name]++
	f.past = append(f.past, f.event(c, "start", nil))
}

func (f *Fake) end(c *fakeContainer, code int) {
	if c.state != "running" {
		return
	}
	c.state, c.code = "exited", code
	f.past = append(f.past, f.event(c, "die", map[string]string{"exitCode": fmt.Sprint(code)}))
	close(c.ended)
}

func (f *Fake) event(c *fakeContainer, action string, attributes map[string]string) map[string]any {
	return map[string]any{"Action": action, "id": c.id, "Actor": map[string]any{"ID": c.id, "Attributes": attributes}, "timeNano": time.Now().UnixNano()}
}

// ServeHTTP is the engine's door.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	verb := r.Method + " " + parts[len(parts)-1]
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		before(verb)
	}
	if after != nil {
		defer after(verb)
	}
	if r.URL.Path == "/version" {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, http.StatusOK, map[string]string{"ApiVersion": f.newest, "MinAPIVersion": f.oldest})
		return
	}
	f.mu.Lock()
	f.versions[parts[0]] = true
	dropped := f.drop == verb
	if dropped {
		f.drop = ""
	}
	f.mu.Unlock()
	if dropped {
		f.serve(nowhere{}, r, parts[1:])
		panic(http.ErrAbortHandler)
	}
	f.serve(w, r, parts[1:])
}

// nowhere is where an answer goes that is not given.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a reader that left needs no answer
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"message": message})
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request, path []string) {
	switch {
	case path[0] == "info":
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, http.StatusOK, map[string]any{"CDISpecDirs": f.injects})
	case path[0] == "images":
		f.pull(w, r)
	case path[0] == "events":
		f.mu.Lock()
		defer f.mu.Unlock()
		w.WriteHeader(http.StatusOK)
		for _, e := range f.past {
			if strings.Contains(r.URL.Query().Get("filters"), e["id"].(string)) {
				_ = json.NewEncoder(w).Encode(e) // as above
			}
		}
	case path[1] == "create":
		f.create(w, r)
	case path[1] == "json":
		f.list(w, r)
	case len(path) == 3 && path[2] == "wait":
		f.wait(w, r, path[1])
	default:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.one(w, r, path)
	}
}

func (f *Fake) pull(w http.ResponseWriter, r *http.Request) {
	image := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	f.mu.Lock()
	f.pulls = append(f.pulls, image)
	stuck, refusal := f.stuck, f.refusal
	f.mu.Unlock()
	answer(w, http.StatusOK, map[string]string{"status": "Pulling from somewhere"})
	_ = http.NewResponseController(w).Flush() // the fake's own answer to a dropped one
	if stuck != nil {
		select {
		case <-stuck:
		case <-r.Context().Done():
			return
		}
	}
	if refusal != "" {
		_ = json.NewEncoder(w).Encode(map[string]any{"error": refusal, "errorDetail": map[string]string{"message": refusal}})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images[image] = true
	f.images[r.URL.Query().Get("fromImage")] = true
}

func (f *Fake) create(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	image, name := body["Image"].(string), r.URL.Query().Get("name")
	if !f.images[image] {
		refuse(w, http.StatusNotFound, "No such image: "+image)
		return
	}
	if f.taken > 0 {
		f.taken--
		refuse(w, http.StatusConflict, "Conflict. The container name is in use")
		return
	}
	for _, c := range f.containers {
		if c.name == name {
			refuse(w, http.StatusConflict, "Conflict. The container name is in use")
			return
		}
	}
	c := &fakeContainer{id: fmt.Sprintf("c%d", time.Now().UnixNano()), name: name, state: "created", labels: map[string]string{}, body: body}
	for k, v := range body["Labels"].(map[string]any) {
		c.labels[k] = v.(string)
	}
	f.containers[c.id] = c
	f.past = append(f.past, f.event(c, "create", nil))
	answer(w, http.StatusCreated, map[string]string{"Id": c.id})
}

func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	var want struct{ Label, ID []string }
	if err := json.Unmarshal([]byte(r.URL.Query().Get("filters")), &want); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []map[string]any{}
	for _, c := range f.containers {
		meets := !slices.ContainsFunc(want.ID, func(id string) bool { return id != c.id })
		for _, label := range want.Label {
			k, v, _ := strings.Cut(label, "=")
			meets = meets && c.labels[k] == v
		}
		if meets {
			all = append(all, map[string]any{"Id": c.id, "State": c.state, "Labels": c.labels})
		}
	}
	answer(w, http.StatusOK, all)
}

func (f *Fake) wait(w http.ResponseWriter, r *http.Request, id string) {
	f.mu.Lock()
	c := f.containers[id]
	f.mu.Unlock()
	if c == nil {
		refuse(w, http.StatusNotFound, "No such container: "+id)
		return
	}
	if c.ended != nil {
		select {
		case <-c.ended:
		case <-r.Context().Done():
			return
		}
	}
	answer(w, http.StatusOK, map[string]int{"StatusCode": c.code})
}

// one serves what is asked of one container, by its id or its name.
func (f *Fake) one(w http.ResponseWriter, r *http.Request, path []string) {
	c := f.containers[path[1]]
	for _, other := range f.containers {
		if other.name == path[1] {
			c = other
		}
	}
	if c == nil {
		refuse(w, http.StatusNotFound, "No such container: "+path[1])
		return
	}
	if r.Method == http.MethodDelete {
		if c.state == "running" && r.URL.Query().Get("force") != "true" {
			refuse(w, http.StatusConflict, "You cannot remove a running container")
			return
		}
		f.end(c, 137)
		delete(f.containers, c.id)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch path[2] {
	case "json":
		state := map[string]any{"Status": c.state, "Running": c.state == "running", "ExitCode": c.code, "StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "0001-01-01T00:00:00Z"}
		if c.state != "created" {
			state["StartedAt"], state["FinishedAt"] = time.Now(), time.Now()
		}
		answer(w, http.StatusOK, map[string]any{"Id": c.id, "State": state, "Config": map[string]any{"StopSignal": "SIGQUIT"}})
	case "start":
		f.start(c)
		w.WriteHeader(http.StatusNoContent)
	case "kill":
		signal := r.URL.Query().Get("signal")
		f.signals = append(f.signals, signal)
		if signal == "SIGKILL" {
			f.end(c, 137)
		}
		w.WriteHeader(http.StatusNoContent)
	default: // logs and attach: nothing was written
		w.WriteHeader(http.StatusOK)
	}
}

// Restart makes the engine forget its last events.
func (f *Fake) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.past = nil
}

// Leftover makes a running container like another one, of the task with that
// key and an earlier run of the agent, and returns its id.
func (f *Fake) Leftover(like, key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fakeContainer{id: "leftover", name: "leftover", labels: map[string]string{}, body: f.containers[like].body}
	for k, v := range f.containers[like].labels {
		c.labels[k] = v
	}
	c.labels["ringmaster.key"] = key
	f.containers[c.id] = c
	f.start(c)
	return c.id
}
