package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// ofDev is a framework at a cluster of one process.
func ofDev(t *testing.T, args ...string) (context.Context, *framework.Client, string) {
	t.Helper()
	needShim(t)
	dir := t.TempDir()
	d := launch(t, dir, "dev", append([]string{"dev", "--http", "127.0.0.1:0", "--data-dir", dir + "/data"}, args...)...)
	address := strings.TrimPrefix(strings.TrimPrefix(d.await(t), "ready "), "http://")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	client, err := framework.Connect(ctx, framework.Config{Masters: []string{address}, Info: wire.FrameworkInfo{Name: "wants"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return ctx, client, address
}

// TestHealthOfAFrameworksTask follows a task that gets well, and then ill for good.
func TestHealthOfAFrameworksTask(t *testing.T) {
	ctx, client, address := ofDev(t)
	task := offers.Task{ID: "t", Resources: small, Command: &offers.Command{Shell: "sleep 1; touch well; sleep 1; rm well; sleep 1000"}, Health: &offers.Health{
		Command: &offers.Command{Argv: []string{"test", "-e", "well"}}, Interval: offers.Duration(100 * time.Millisecond), Failures: 5, Grace: offers.Duration(50 * time.Second),
	}}
	var seen []string
	_, err := framework.RunBatch(ctx, client, []offers.Task{task}, framework.BatchOptions{OnUpdate: func(u framework.BatchUpdate) {
		word := string(u.Status.State)
		if u.Status.Healthy != nil {
			word += fmt.Sprint(" ", *u.Status.Healthy)
			shown := ask(t, address, "/v1/tasks/t")
			if !strings.Contains(shown, `"healthy":`) {
				t.Errorf("the masters show %s", shown)
			}
		}
		seen = append(seen, strings.TrimSpace(word+" "+u.Status.Reason))
	}})
	if err != nil || strings.Join(seen, ", ") != "running, running true, running false health, failed health" {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestDiskOfAFrameworksTask holds that a task ends that takes more of the disk
// than it asked for, while its log may be longer.
func TestDiskOfAFrameworksTask(t *testing.T) {
	ctx, client, _ := ofDev(t, "--log-size", "64KiB")
	room := small
	room.Amounts[offers.Disk] = 2 << 20
	chatty := offers.Task{ID: "chatty", Resources: room, Command: &offers.Command{Shell: "for n in 1 2 3 4; do yes | head -c 1000000; sleep 1.5; done"}}
	greedy := offers.Task{ID: "greedy", Resources: room, Command: &offers.Command{Shell: "head -c 4000000 /dev/zero > big; sleep 1000"}}
	results, err := framework.RunBatch(ctx, client, []offers.Task{chatty, greedy}, framework.BatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := results[0].Status; s.State != offers.Finished {
		t.Errorf("the one with the long log ended as %+v", s)
	}
	if s := results[1].Status; s.State != offers.Failed || s.Reason != offers.ReasonDiskLimit {
		t.Errorf("the one with the large file ended as %+v", s)
	}
}

func ask(t *testing.T, address, path string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestArtifactsOfAFramework goes the whole way: from a framework's task through
// the masters' log to a program that finds what it wants.
func TestArtifactsOfAFramework(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tool" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("#!/bin/sh\ngrep -q hello data/words\n"))
	}))
	defer web.Close()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "words"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, client, _ := ofDev(t, "--artifact-roots", root)
	good := offers.Task{ID: "good", Resources: small, Command: &offers.Command{Argv: []string{"./tool"}}, Artifacts: []offers.Artifact{
		{URI: web.URL + "/tool", Executable: true}, {URI: "file://" + root + "/words", Dest: "data/"},
	}}
	absent := offers.Task{ID: "absent", Resources: small, Command: good.Command, Artifacts: []offers.Artifact{{URI: web.URL + "/absent"}}}
	outside := offers.Task{ID: "outside", Resources: small, Command: good.Command, Artifacts: []offers.Artifact{{URI: "file:///etc/passwd"}}}
	wrong := offers.Task{ID: "wrong", Resources: small, Command: good.Command, Artifacts: []offers.Artifact{{URI: "ftp://h/x"}}}
	results, err := framework.RunBatch(ctx, client, []offers.Task{good, absent, outside, wrong}, framework.BatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		state         offers.State
		reason, words string
	}{
		{offers.Finished, "", ""},
		{offers.Failed, offers.ReasonArtifact, "artifacts[0] (" + web.URL + "/absent): its server answered 404 Not Found"},
		{offers.Failed, offers.ReasonArtifact, "artifact_roots"},
		{offers.Rejected, offers.ReasonBadTask, "artifacts[0].uri: its scheme is not http, https or file"},
	} {
		if s := results[i].Status; s.State != want.state || s.Reason != want.reason || !strings.Contains(s.Message, want.words) {
			t.Errorf("%s ended as %+v, want %+v", results[i].Task, s, want)
		}
	}
}
