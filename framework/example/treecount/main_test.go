package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// host is a fake master whose tasks really run, and whose logs can be read.
type host struct {
	mu     sync.Mutex
	stdout map[string]string // by framework:task
}

func (h *host) run(task offers.Task) offers.Status {
	cmd := exec.Command("/bin/sh", "-c", task.Command.Shell)
	for k, v := range task.Command.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stdout["f1:"+string(task.ID)] = string(out)
	if err != nil {
		return offers.Status{State: offers.Failed, Message: string(out)}
	}
	return offers.Status{State: offers.Finished, ExitCode: new(int)}
}

func (h *host) serve(t *testing.T) (address string) {
	cluster := &frameworktest.Cluster{Run: h.run}
	master := frameworktest.NewMaster(t)
	master.Serve(cluster.Serve)
	logs := func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if r.FormValue("stream") != "stdout" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "wrong question", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, h.stdout[r.PathValue("task")])
	}
	mux := http.NewServeMux()
	mux.Handle(wire.FrameworkPath, master)
	mux.HandleFunc("GET /v1/tasks/{task}/logs", logs)
	leader := httptest.NewServer(mux)
	t.Cleanup(leader.Close)
	follower := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, leader.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(follower.Close)
	return strings.TrimPrefix(follower.URL, "http://")
}

func write(t *testing.T, tree string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTreecount(t *testing.T) {
	h := &host{stdout: map[string]string{}}
	tree := t.TempDir()
	write(t, tree, map[string]string{"fmt/a b.go": "1\n2\n", "fmt/in/c.go": "3\n", "os/x.go": "1\n", "top.go": "not counted\n"})
	if err := os.Mkdir(filepath.Join(tree, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"--masters", h.serve(t), "--token", "secret", "--tree", tree}
	if code := run(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"3 2 846835361 fmt", "1 1 4219530715 os", "0 0 4294967295 empty", "4 3 all 3 folders", "3 of 3 tasks finished", "on 1 agent"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// Help is no mistake, and does not show what is secret; a mistake is told once.
func TestTreecountHelps(t *testing.T) {
	t.Setenv("RINGMASTER_TOKEN", "secret")
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"--help"}, &out, &errs); code != 0 || !strings.HasPrefix(errs.String(), "Usage of treecount:") || strings.Contains(errs.String(), "secret") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	errs.Reset()
	if code := run(context.Background(), []string{"--trees"}, &out, &errs); code != 2 || errs.String() != "treecount: flag provided but not defined: -trees\n" {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}

func TestTreecountFails(t *testing.T) {
	h := &host{stdout: map[string]string{}}
	tree := t.TempDir()
	write(t, tree, map[string]string{"good/x": "1\n"})
	address := h.serve(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no tree", []string{"--tree", ""}, 2, "--tree is empty"},
		{"bad amount", []string{"--tree", tree, "--mem", "-1"}, 2, "--mem"},
		{"missing tree", []string{"--tree", tree + "/none", "--masters", address}, 1, "no such file"},
		{"bad master", []string{"--tree", tree, "--masters", "nowhere"}, 1, "is not host:port"},
		{"wrong token", []string{"--tree", tree, "--masters", address, "--token", "x"}, 1, "wrong question"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(context.Background(), c.args, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.want) {
				t.Errorf("exit code %d, %q; want %d and %q", code, errs.String(), c.code, c.want)
			}
		})
	}
}
