package cli_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestExecTellsThatItWaits: a command beside a task is held up until the program has
// said that there is no answer yet.
func TestExecTellsThatItWaits(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f, told := newFake(t, ""), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/exec") {
			select {
			case <-told:
			case <-ctx.Done():
			}
		}
		f.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	cmd := exec.CommandContext(ctx, "ringmaster", "exec", "--masters", slow.Listener.Addr().String(), "build-7", "--", "nosuch")
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	if !lines.Scan() || lines.Text() != "ringmaster: there is no answer yet; waiting" {
		t.Errorf("it says first %q", lines.Text())
	}
	close(told)
	if !lines.Scan() || !strings.Contains(lines.Text(), "there is no program nosuch") {
		t.Errorf("it says then %q", lines.Text())
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 127 {
		t.Errorf("it ends with %d", cmd.ProcessState.ExitCode())
	}
}
