package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// call tells an agent who leads, and returns what it answers.
func call(t *testing.T, h *host, body string, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Address()+"/v1/leader", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestWhoLeadsCalls: an agent whose leader says nothing more goes to the next one
// when that calls, as who it is. A call of a term that it knows is no news.
func TestWhoLeadsCalls(t *testing.T) {
	stopped, next := newMaster(t), newMaster(t)
	h := run(t, config(t, t.TempDir(), stopped))
	stopped.welcome("a1", 3)
	calling := func(m *master, term int) {
		t.Helper()
		if status, text := call(t, h, fmt.Sprintf(`{"name":"m","address":%q,"term":%d}`, m.address, term)); status != http.StatusNoContent {
			t.Fatalf("a call is answered %d %s", status, text)
		}
	}
	calling(next, 4)
	l, register := next.welcome("a1", 4)
	if register.Agent.ID != "a1" {
		t.Errorf("it came as %q", register.Agent.ID)
	}
	l.launch(4, shell("t1", "true"))
	l.end("t1") // so the agent has heard that it is registered
	calling(stopped, 4)
	calling(stopped, 3)
	calling(next, 5) // which leads on
	l.launch(4, shell("t2", "true"))
	l.end("t2")
	if n := len(stopped.links) + len(next.links); n > 0 {
		t.Errorf("it came %d times more", n)
	}
}

// TestCallsAreChecked: nobody else sends an agent elsewhere.
func TestCallsAreChecked(t *testing.T) {
	m := newMaster(t)
	c := config(t, t.TempDir(), m)
	d, err := door.Open(door.Config{Token: "sesame"})
	if err != nil {
		t.Fatal(err)
	}
	c.Door = d
	h := run(t, c)
	m.welcome("a1", 3)
	const good = `{"name":"m","address":"127.0.0.1:1","term":4}`
	for _, c := range []struct {
		body, token, origin string
		status              int
		says                string
	}{
		{good, "", "", 401, "token"},
		{good, "sesam", "", 401, "token"},
		{good, "sesame", "http://evil.example", 403, "origin"},
		{"x", "sesame", "", 400, "JSON with its name, address and term"},
		{`{"name":"m","address":"127.0.0.1","term":4}`, "sesame", "", 400, "host:port"},
		{`{"name":"` + strings.Repeat("m", 5000) + `","address":"127.0.0.1:1","term":4}`, "sesame", "", 400, "at most 4096 bytes"},
	} {
		header := []string{"Authorization", "Bearer " + c.token}
		if c.origin != "" {
			header = append(header, "Origin", c.origin)
		}
		if status, text := call(t, h, c.body, header...); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%.60s is answered %d %s; want %d and %q", c.body, status, text, c.status, c.says)
		}
	}
	if len(m.links) > 0 {
		t.Error("it left its leader")
	}
}
