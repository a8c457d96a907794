package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRedirectToADeadLeader holds that a command outlasts the moment in which
// the other masters still point to a leader that is gone.
func TestRedirectToADeadLeader(t *testing.T) {
	dead := addresses(t, 1)[0]
	var asked atomic.Int64
	follower := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Redirect(w, r, "http://"+dead+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, `{"masters": [{"name": "next", "role": "leader"}]}`)
	}))
	defer follower.Close()
	out, err := exec.Command("ringmaster", "masters", "--masters", dead+","+strings.TrimPrefix(follower.URL, "http://")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "next") {
		t.Errorf("%v: %s", err, out)
	}
}
