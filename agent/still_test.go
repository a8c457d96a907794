package agent

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// TestStillBodies: a call whose body stands still ends as it does at a master.
func TestStillBodies(t *testing.T) {
	open, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{config: Config{Door: open}, log: hclog.NewNullLogger()}
	for _, begins := range []string{"", `{"name":"m1",`, `{"name":"m1","address":"127.0.0.1:1","term":`} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/leader", io.MultiReader(strings.NewReader(begins), iotest.ErrReader(door.ErrStill)))
		w := httptest.NewRecorder()
		a.hearLeader(w, r)
		if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "nothing more of the request's body came for 30s") {
			t.Errorf("after %q: %d %s", begins, w.Code, w.Body)
		}
	}
}
