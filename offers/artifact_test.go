package offers_test

import (
	"path"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func withArtifacts(list ...offers.Artifact) *offers.Task {
	return &offers.Task{ID: "t", Command: &offers.Command{Shell: "true"}, Artifacts: list}
}

func TestArtifactPath(t *testing.T) {
	for _, row := range []struct {
		artifact offers.Artifact
		want     string
	}{
		{offers.Artifact{URI: "https://h/a/b.txt?token=x"}, "b.txt"},
		{offers.Artifact{URI: "https://h/a/b%20c"}, "b c"},
		{offers.Artifact{URI: "https://h/a/", Dest: "x"}, "x"},
		{offers.Artifact{URI: "https://h/a/b", Dest: "x/"}, "x/b"},
		{offers.Artifact{URI: "https://h/a/b", Dest: "x/../y"}, "y"},
		{offers.Artifact{URI: "https://h/a/b.tar", Extract: true}, "."},
		{offers.Artifact{URI: "https://h/a/b.tar", Extract: true, Dest: "x/"}, "x"},
		{offers.Artifact{URI: "file:///srv/b"}, "b"},
	} {
		if err := withArtifacts(row.artifact).Validate(); err != nil {
			t.Errorf("%+v: %v", row.artifact, err)
		}
		if got := row.artifact.Path(); got != row.want {
			t.Errorf("%+v goes to %q, want %q", row.artifact, got, row.want)
		}
	}
}

func TestArtifactsRefused(t *testing.T) {
	good := offers.Artifact{URI: "https://h/a"}
	for _, row := range []struct {
		list  []offers.Artifact
		names string
	}{
		{[]offers.Artifact{good, {}}, "artifacts[1].uri"},
		{[]offers.Artifact{{URI: "ftp://h/a"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "h/a"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "http:///a"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "http:opaque"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "file://host/a"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "file:a"}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "https://h/" + strings.Repeat("a", 9000)}}, "artifacts[0].uri"},
		{[]offers.Artifact{{URI: "https://h/a", SHA256: "abc"}}, "artifacts[0].sha256"},
		{[]offers.Artifact{{URI: "https://h/a", SHA256: strings.Repeat("g", 64)}}, "artifacts[0].sha256"},
		{[]offers.Artifact{{URI: "https://h/a", Extract: true, Executable: true}}, "artifacts[0].executable"},
		{[]offers.Artifact{{URI: "https://h/a", Dest: "../x"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/a", Dest: "/x"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/a", Dest: "x/../.."}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/a", Dest: "."}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/a", Dest: "stdout"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/stderr"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/", Dest: "x/"}}, "artifacts[0].dest"},
		{[]offers.Artifact{{URI: "https://h/%00"}}, "artifacts[0].dest"},
		{[]offers.Artifact{good, {URI: "https://g/a"}}, "artifacts[1].dest"},
		{make([]offers.Artifact, 65), "artifacts"},
	} {
		wantNamed(t, withArtifacts(row.list...).Validate(), row.names, row.names)
	}
}

// TestArtifactSecrets holds that what stands in a URI for the server's eyes
// reaches no message.
func TestArtifactSecrets(t *testing.T) {
	for _, uri := range []string{"https://user:secret@h/a?key=secret#secret", "ftp://user:secret@h/a", "https://secret:secret@h/%zz?secret", "secret://x"} {
		a := offers.Artifact{URI: uri, Dest: "x"}
		if strings.Contains(a.Shown(), "secret") && !strings.HasPrefix(uri, "secret:") {
			t.Errorf("%s is shown as %s", uri, a.Shown())
		}
		if err := withArtifacts(a).Validate(); err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is told in %v", uri, err)
		}
	}
}

func FuzzArtifact(f *testing.F) {
	f.Add("https://user:pw@host:80/a/b.tar.gz?x#y", "", false)
	f.Add("file:///a/../b", "x/", false)
	f.Add("http://[::1]/%2e%2e", "a//b", true)
	f.Fuzz(func(t *testing.T, uri, dest string, extract bool) {
		task := withArtifacts(offers.Artifact{URI: uri, Dest: dest, Extract: extract})
		if task.Validate() != nil {
			return
		}
		p := task.Artifacts[0].Path()
		if path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) || p == "" || p == "." && !extract {
			t.Fatalf("%q and %q go to %q", uri, dest, p)
		}
	})
}
