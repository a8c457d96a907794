package sandbox_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/sandbox"
	"github.com/ringmaster-project/ringmaster/offers"
)

// FuzzServeFile asks for any path of a sandbox in which links lead out of it:
// what lies outside is never told.
func FuzzServeFile(f *testing.F) {
	for _, path := range []string{"", "stdout", "d/f", "link", "up/secret", "up/../secret", "../../secret", "d/../link", "/etc/passwd", "d//f/.", "round/round/stdout", "a\x00b", "pipe"} {
		f.Add(path, "bytes=0-1")
	}
	const secret = "what nobody may read"
	f.Fuzz(func(t *testing.T, path, span string) {
		dir := t.TempDir()
		s, err := sandbox.Open(filepath.Join(dir, "boxes"), sandbox.Keep{Count: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		task := offers.TaskRef{Framework: "f", Task: "t"}
		box, err := s.Create(task, nil, "d")
		if err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"link": filepath.Join(dir, "secret"), "up": "../../..", "round": ".", "d/far": "../../../../secret"} {
			if err := os.Symlink(to, filepath.Join(box, name)); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{filepath.Join(dir, "secret"): secret, filepath.Join(box, "d/f"): "data"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", span)
		err = s.ServeFile(w, r, task, path, func(entries []sandbox.Entry) {
			for _, e := range entries {
				if e.Name == "secret" || e.Name == "boxes" {
					t.Fatalf("%q lists what is outside: %+v", path, entries)
				}
			}
		})
		if body := w.Body.String(); err != nil && body != "" || strings.Contains(body, secret) || strings.Contains(body, secret[:4]) {
			t.Fatalf("%q tells %q, %v", path, body, err)
		}
	})
}
