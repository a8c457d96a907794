package dockertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP is the engine's door.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if isPing(r) {
		w.WriteHeader(http.StatusOK)
		return
	}
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

// isPing tells of a look whether the engine is there, which comes whenever it
// does and counts as no request.
func isPing(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_ping") }

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
		state := map[string]any{"Status": c.state, "Running": c.state == "running", "Pid": FirstProcess, "ExitCode": c.code, "StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "0001-01-01T00:00:00Z"}
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
