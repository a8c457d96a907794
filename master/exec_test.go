package master

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// atAgent lets an agent of the scene answer at its own door.
func atAgent(t *testing.T, s *scene, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	agent := httptest.NewServer(answer)
	t.Cleanup(agent.Close)
	ag := *s.shown.State.Agent("a00001-c0de")
	ag.Address = strings.TrimPrefix(agent.URL, "http://")
	next, results := s.shown.State.Apply([]state.Command{{RegisterAgent: &state.RegisterAgent{Agent: ag.Agent, Time: dawn}}})
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	s.shown.State = next
	return agent
}

// dialExec connects to a command of task t2 through the master.
func dialExec(t *testing.T, s *scene, header ...string) (*wire.Conn, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return wire.Dial(t.Context(), "ws"+strings.TrimPrefix(s.server.URL, "http")+"/v1/tasks/t2/exec", wire.ExecProtocol, h, nil, wire.ExecOptions)
}

// TestExecIsPassedOn: both ways, with the master's credentials and none of the
// client's, and the end of one connection is the end of the other.
func TestExecIsPassedOn(t *testing.T) {
	s := newScene(t, "secret")
	ended := make(chan error, 1)
	atAgent(t, s, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/v1/sandbox/f00001-c0de/t2/exec" || r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Cookie") != "" {
			t.Errorf("the agent saw %s with %v", r.RequestURI, r.Header)
		}
		link, err := wire.Upgrade(w, r, wire.ExecProtocol, wire.ExecOptions)
		if err != nil {
			t.Error(err)
			return
		}
		defer link.Close("done")
		for {
			frame, err := link.Receive()
			if err != nil {
				ended <- err
				return
			}
			_ = link.Send(append([]byte("heard "), frame...)) // Receive tells
		}
	})
	link, err := dialExec(t, s, "Authorization", "Bearer secret", "Cookie", "a=b")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two"} {
		if err := link.Send([]byte(word)); err != nil {
			t.Fatal(err)
		}
		if frame, err := link.Receive(); err != nil || string(frame) != "heard "+word {
			t.Fatalf("%q %v", frame, err)
		}
	}
	link.Close("enough")
	if err := <-ended; err == nil {
		t.Error("the agent's connection goes on")
	}
}

// TestExecIsRefused: who may not, and what the agent refuses in its own words.
func TestExecIsRefused(t *testing.T) {
	s := newScene(t, "secret")
	atAgent(t, s, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error": {"code": "task_not_running", "message": "it does not run"}}`))
	})
	for want, header := range map[string][]string{
		"it does not run":                            {"Authorization", "Bearer secret"},
		"exec t2 needs the cluster's token":          {},
		"the origin \"http://evil.example\" are ref": {"Authorization", "Bearer secret", "Origin", "http://evil.example"},
	} {
		_, err := dialExec(t, s, header...)
		var refused *wire.StatusError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("%v: %v, not %q", header, err, want)
		}
	}
	if status, _, text := s.ask("GET", "/v1/tasks/t2/exec", "", "Authorization", "Bearer secret"); status != http.StatusUpgradeRequired || !strings.Contains(text, wire.ExecProtocol) {
		t.Errorf("without an upgrade: %d %s", status, text)
	}
}
