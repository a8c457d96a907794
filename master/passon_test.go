package master

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
)

// A master that does not lead has the leader answer who wishes that, once it
// has let them in.
func TestFollowerPassesOn(t *testing.T) {
	var seen []string
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprintf("%s %s %s %s %v", r.Method, r.RequestURI, body, r.Header.Get("Authorization"), err))
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "from the leader")
	}))
	defer leader.Close()
	s := newScene(t, "secret")
	s.verify = offers.Errorf(offers.NotLeader, "this master does not lead")
	s.leader = replica.Member{ID: "m2@2", Name: "m2", HTTP: strings.TrimPrefix(leader.URL, "http://")}

	ask := func(method, path, body string, header ...string) (int, http.Header, string) {
		return s.ask(method, path, body, append(header, "Authorization", "Bearer secret")...)
	}
	for _, prefer := range []string{"pass-on", "return=minimal, Pass-On"} {
		status, header, text := ask("GET", "/v1/tasks?state=running&next=a%2Fb", "", "Prefer", prefer)
		if status != http.StatusAccepted || text != "from the leader" || header.Get("Content-Type") != "text/event-stream" || header.Get("Set-Cookie") != "" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("Prefer: %s: %d %s %v", prefer, status, text, header)
		}
	}
	ask("POST", "/v1/tasks/f1:a%20b/kill", `{"grace": "1s"}`, "Prefer", "pass-on")
	want := []string{
		"GET /v1/tasks?state=running&next=a%2Fb  Bearer secret <nil>",
		"GET /v1/tasks?state=running&next=a%2Fb  Bearer secret <nil>",
		`POST /v1/tasks/f1:a%20b/kill {"grace": "1s"} Bearer secret <nil>`,
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the leader saw\n%s; want\n%s", seen, want)
	}

	if status, _, _ := s.ask("GET", "/v1/tasks", "", "Prefer", "pass-on"); status != 401 {
		t.Errorf("without the token: %d", status)
	}
	for _, c := range [][]string{{}, {"Prefer", "return=minimal"}, {"Prefer", "pass-on", "Via", passedToLeader}} {
		if status, _, text := ask("GET", "/v1/tasks", "", c...); status != http.StatusTemporaryRedirect {
			t.Errorf("%v: %d %s", c, status, text)
		}
	}
	if status, _, text := ask("GET", "/healthz", "", "Prefer", "pass-on"); status != 200 || !strings.Contains(text, "ok") {
		t.Errorf("its own health: %d %s", status, text)
	}
	leader.Close()
	if status, _, text := ask("GET", "/v1/tasks", "", "Prefer", "pass-on"); status != 502 || !strings.Contains(text, "the leader m2 does not answer") {
		t.Errorf("a leader that is away: %d %s", status, text)
	}
	s.leader = self
	s.verify = nil
	if status, _, _ := ask("GET", "/v1/tasks", "", "Prefer", "pass-on"); status != 200 || len(seen) != 3 {
		t.Errorf("a leader answers itself: %d", status)
	}
}

// Who reads events goes on where the stream ended, also over a master that does not lead.
func TestEventsGoOnOverAFollower(t *testing.T) {
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "after ", r.Header.Get("Last-Event-ID"))
	}))
	defer leader.Close()
	s := newScene(t, "")
	s.verify = offers.Errorf(offers.NotLeader, "this master does not lead")
	s.leader = replica.Member{ID: "m2@2", Name: "m2", HTTP: strings.TrimPrefix(leader.URL, "http://")}
	if _, _, text := s.ask("GET", "/v1/events", "", "Prefer", "pass-on", "Last-Event-ID", "1-7-0"); text != "after 1-7-0" {
		t.Errorf("the leader is asked for what comes %s", text)
	}
}

// A long answer is packed for those who take that.
func TestLongAnswersArePacked(t *testing.T) {
	s := newScene(t, "")
	_, header, plain := s.ask("GET", "/v1/agents", "", "Accept-Encoding", "identity")
	if header.Get("Content-Encoding") != "" || header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("plain: %v", header)
	}
	if len(plain) >= worthPacking {
		t.Fatalf("%d bytes are a long answer", len(plain))
	}
	many := map[string]string{"text": strings.Repeat("ring", worthPacking)}
	for asked, want := range map[string]bool{"gzip": true, "br;q=1, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "": false} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Accept-Encoding", asked)
		body, packed, err := pack(r, many)
		if err != nil {
			t.Fatal(err)
		}
		send(w, body, packed)
		if is := w.Header().Get("Content-Encoding") == "gzip"; is != want || is != (w.Body.Len() < worthPacking) {
			t.Errorf("%q: %d bytes, %v", asked, w.Body.Len(), w.Header())
		}
	}
}
