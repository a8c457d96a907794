package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestCompleteAgents: what is done to agents is offered those that are not gone.
func TestCompleteAgents(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"agents": [{"id": "ag-1", "name": "a", "state": "gone"}, {"id": "ag-2", "name": "a", "state": "drained"}]}`)
	}))
	t.Cleanup(s.Close)
	for command, want := range map[string]string{
		"drain": "ag-2\n", "undrain": "ag-2\n", "remove": "ag-2\n", "agents": "ag-1\nag-2\n",
	} {
		out, _, code := commandLine(t, "__complete", command, "--masters", s.Listener.Addr().String(), "")
		if code != 0 || out != want {
			t.Errorf("%s is offered %q, exit code %d; want %q", command, out, code, want)
		}
	}
}
