package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/jobs/scheduler"
	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

const (
	maxBody    = 1 << 20
	maxWatch   = time.Second           // a question for what is new is answered by then
	quietWatch = 50 * time.Millisecond // between two answers to one who watches
)

// endpoint answers with a value to be written as JSON.
type endpoint func(*http.Request) (any, error)

func (d *Daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.Handle("GET /v1/jobs", d.guarded(door.Read, d.list))
	mux.Handle("GET /v1/jobs/{name}", d.guarded(door.Read, d.one))
	mux.Handle("PUT /v1/jobs/{name}", d.guarded(door.Operate, d.submit))
	mux.Handle("POST /v1/jobs/{name}/stop", d.guarded(door.Operate, d.stop))
	mux.Handle("POST /v1/jobs/{name}/scale", d.guarded(door.Operate, d.scale))
	mux.Handle("POST /v1/jobs/{name}/rollback", d.guarded(door.Operate, d.rollback))
	mux.Handle("POST /v1/jobs/{name}/purge", d.guarded(door.Operate, d.purge))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, offers.Errorf(offers.UnknownJob, "the jobs framework serves no %s %.200q", r.Method, r.URL.Path))
	})
	return mux
}

// guarded lets in whom the door admits, and writes the answer.
func (d *Daemon) guarded(action door.Action, serve endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err := door.SameOrigin(r)
		if err == nil {
			err = d.config.Door.Admit(d.config.Door.Who(r), action, r.PathValue("name"))
		}
		var answer any
		if err == nil {
			answer, err = serve(r)
		}
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // whoever asked has left if this fails
	}
}

func fail(w http.ResponseWriter, err error) {
	var known *offers.Error
	var field *spec.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &large):
		known = offers.Errorf(offers.TooLarge, "the request has more than %d bytes", maxBody)
	case errors.As(err, &field):
		known = offers.Errorf(offers.BadMessage, "%s", err)
	default:
		known = offers.Errorf(offers.Internal, "%s", err)
	}
	status := door.StatusOf(known)
	if known.Code == offers.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": known})
}

func (d *Daemon) list(r *http.Request) (any, error) {
	var views []*scheduler.View
	err := d.within(r.Context(), func(l *leader) { views = l.sched.Jobs() })
	return map[string]any{"jobs": views}, err
}

// Detail is one job as GET /v1/jobs/NAME shows it.
type Detail struct {
	scheduler.Detail
	Framework offers.FrameworkID `json:"framework_id"` // whose its tasks are
}

// one answers with a job; with ?after=N when it has changed since N, or after
// a while as it is. With ?brief=true the instances are left out.
func (d *Daemon) one(r *http.Request) (any, error) {
	after, err := number(r, "after")
	if err != nil {
		return nil, err
	}
	brief := false
	if text := r.URL.Query().Get("brief"); text != "" {
		if brief, err = strconv.ParseBool(text); err != nil {
			return nil, offers.Errorf(offers.BadMessage, "brief is %.60q; it is true or false", text)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWatch)
	defer cancel()
	for {
		var detail *Detail
		var changed, done <-chan struct{}
		var unknown error
		err := d.within(r.Context(), func(l *leader) {
			detail = &Detail{Framework: l.client.ID()}
			detail.Detail, unknown = l.sched.Detail(r.PathValue("name"), after, brief)
			changed, done = l.changed, l.done
		})
		if err = errors.Join(err, unknown); err != nil || after == 0 || detail.Changed > after || ctx.Err() != nil {
			return detail, err
		}
		select {
		case <-changed:
			sleep(ctx, quietWatch)
		case <-done:
		case <-ctx.Done():
		}
	}
}

func number(r *http.Request, name string) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, offers.Errorf(offers.BadMessage, "%s is %.60q; it is a number", name, text)
	}
	return n, nil
}

// change runs a wish in the loop and answers when what came of it is on disk.
func (d *Daemon) change(r *http.Request, wish func(now time.Time, s *scheduler.Scheduler) (any, error)) (any, error) {
	var answer any
	var refused error
	written := make(chan struct{})
	var done <-chan struct{}
	err := d.within(r.Context(), func(l *leader) {
		done = l.done
		if answer, refused = wish(time.Now(), l.sched); refused == nil {
			l.waiting.after = append(l.waiting.after, func() { close(written) })
		}
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	select {
	case <-written:
		return answer, nil
	case <-done:
		return nil, offers.Errorf(offers.Undecided, "this instance of the jobs framework stopped working before it knew whether the change was written: look at the job before you ask again")
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (d *Daemon) submit(r *http.Request) (any, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var j spec.Job
	if err := strict(text, &j, func() any { return new(spec.Job) }); err != nil {
		return nil, err
	}
	if err := j.Validate(); err != nil {
		return nil, err
	}
	if j.Name != r.PathValue("name") {
		return nil, offers.Errorf(offers.BadMessage, "the job is called %.80q, and the path says %.80q", j.Name, r.PathValue("name"))
	}
	return d.change(r, func(now time.Time, s *scheduler.Scheduler) (any, error) { return s.Submit(now, j) })
}

// strict reads one JSON object into a value and refuses fields that it does not
// have, and keys that come twice. fresh returns an empty value of its type.
func strict(text []byte, into any, fresh func() any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(into); {
	case err == io.EOF:
		return offers.Errorf(offers.BadMessage, "a JSON object is needed, and there is nothing")
	case err != nil:
		return offers.Errorf(offers.BadMessage, "%s", offers.Explain(text, fresh, err))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return offers.Errorf(offers.BadMessage, "something follows the JSON object")
	}
	if err := offers.NoKeyTwice(text); err != nil {
		return offers.Errorf(offers.BadMessage, "%s", err)
	}
	return nil
}

func (d *Daemon) stop(r *http.Request) (any, error) {
	return d.change(r, func(now time.Time, s *scheduler.Scheduler) (any, error) { return s.Stop(now, r.PathValue("name")) })
}

func (d *Daemon) purge(r *http.Request) (any, error) {
	return d.change(r, func(_ time.Time, s *scheduler.Scheduler) (any, error) {
		return map[string]string{"name": r.PathValue("name")}, s.Purge(r.PathValue("name"))
	})
}

func (d *Daemon) scale(r *http.Request) (any, error) {
	order, err := readOrder[struct {
		Count int `json:"count"`
	}](r)
	if err != nil {
		return nil, err
	}
	return d.change(r, func(now time.Time, s *scheduler.Scheduler) (any, error) {
		return s.Scale(now, r.PathValue("name"), order.Count)
	})
}

func (d *Daemon) rollback(r *http.Request) (any, error) {
	order, err := readOrder[struct {
		Version int `json:"version"`
	}](r)
	if err != nil {
		return nil, err
	}
	return d.change(r, func(now time.Time, s *scheduler.Scheduler) (any, error) {
		return s.Rollback(now, r.PathValue("name"), order.Version)
	})
}

func readOrder[T any](r *http.Request) (order T, err error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return order, err
	}
	err = strict(text, &order, func() any { return new(T) })
	return order, err
}
