package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
