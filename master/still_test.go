package master

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// A body that stood still is told of where it was to be read, be it here or by
// somebody to whom it was passed on.
func TestBodyThatStandsStillIsToldOf(t *testing.T) {
	s := newScene(t, "")
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }))
	t.Cleanup(daemon.Close)
	addFramework(t, s, daemon.URL, true)
	for _, c := range []struct{ method, path, begins string }{
		{"PUT", "/v1/roles/eng", `{"weight":`}, {"POST", "/v1/snapshot", "ringmaster state"}, {"PUT", "/v1/jobs/a", `{"name":`},
	} {
		r := httptest.NewRequest(c.method, c.path, io.MultiReader(strings.NewReader(c.begins), iotest.ErrReader(door.ErrStill)))
		r.Host = "127.0.0.1:5050"
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "nothing more of the request's body came for 30s") {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
