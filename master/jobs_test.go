package master

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// addFramework registers one with a label of jobs and returns its id.
func addFramework(t *testing.T, s *scene, url string, connected bool) offers.FrameworkID {
	t.Helper()
	next, results := s.shown.State.Apply([]state.Command{{RegisterFramework: &state.RegisterFramework{
		Name: "jobs", Role: "default", Labels: map[string]string{wire.JobsLabel: url}, FailoverTimeout: time.Hour, Time: time.Now().UTC(),
	}}})
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	s.shown.State = next
	id := results[0].Value.(*state.Framework).ID
	s.shown.Connected[id] = connected
	return id
}

// TestJobsArePassedOn holds that requests about jobs reach the framework that
// keeps them with the cluster's token, and that its answers come back.
func TestJobsArePassedOn(t *testing.T) {
	s := newScene(t, "secret")
	bearer := []string{"Authorization", "Bearer secret", "Cookie", "of=ours"}
	if status, _, text := s.ask("GET", "/v1/jobs", "", bearer...); status != 404 || !strings.Contains(text, "ringmaster jobs") {
		t.Errorf("without a jobs framework: %d %s", status, text)
	}
	addFramework(t, s, "http://127.0.0.1:1", false)
	if status, _, text := s.ask("GET", "/v1/jobs", "", bearer...); status != 503 || !strings.Contains(text, "is not connected") {
		t.Errorf("with one that is away: %d %s", status, text)
	}
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "of=theirs")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), body, r.Header.Get("Cookie"))
	}))
	t.Cleanup(daemon.Close)
	addFramework(t, s, daemon.URL, true)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/v1/jobs", ""}, {"GET", "/v1/jobs/a?after=7", ""}, {"PUT", "/v1/jobs/a", `{"name": "a"}`}, {"POST", "/v1/jobs/a/stop", "{}"},
	} {
		status, header, text := s.ask(c.method, c.path, c.body, bearer...)
		want := fmt.Sprintf("%s %s Bearer secret %s %q", c.method, c.path, c.body, "")
		if status != http.StatusTeapot || text != want || header.Get("Set-Cookie") != "" {
			t.Errorf("%s %s: %d %s %v, want %s", c.method, c.path, status, text, header, want)
		}
	}
	if status, _, text := s.ask("PUT", "/v1/jobs/a", strings.Repeat(" ", maxBody+1), bearer...); status != 413 || !strings.Contains(text, "larger than") {
		t.Errorf("of too much: %d %s", status, text)
	}
	if status, _, _ := s.ask("PUT", "/v1/jobs/a", "{}"); status != 401 {
		t.Errorf("without the token: %d", status)
	}
}

// TestJobsAreNotPassedInCircles: a framework that names a master as its
// address is told so, once.
func TestJobsAreNotPassedInCircles(t *testing.T) {
	s := newScene(t, "")
	addFramework(t, s, s.server.URL, true)
	if status, _, text := s.ask("GET", "/v1/jobs", ""); status != 503 || !strings.Contains(text, "reached at a master") {
		t.Errorf("%d %s", status, text)
	}
	for _, url := range []string{"ftp://x", "no url", "http://"} {
		s := newScene(t, "")
		addFramework(t, s, url, true)
		if status, _, text := s.ask("GET", "/v1/jobs", ""); status != 503 || !strings.Contains(text, "no URL") {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
}

// TestJobsThatBreakOff: an order that reached the jobs framework may have been carried
// out although no answer came, one that reached nobody was not.
func TestJobsThatBreakOff(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s := newScene(t, "")
	addFramework(t, s, daemon.URL, true)
	s.wantError("POST", "/v1/jobs/a/rollback", "{}", 502, offers.Undecided, "whether that was done is not known")
	s.wantError("GET", "/v1/jobs/a", "", 502, offers.Unavailable, "does not answer")
	daemon.Close()
	s.wantError("POST", "/v1/jobs/a/rollback", "{}", 502, offers.Unavailable, "does not answer")
}
