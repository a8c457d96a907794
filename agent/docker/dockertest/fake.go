package dockertest

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
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

// FirstProcess is the number of the first process of every container.
const FirstProcess = 4242

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

// LoseSight makes the engine forget that a container was started.
func (f *Fake) LoseSight(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		c.state = "created"
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
