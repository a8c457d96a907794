package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsJobFiles holds that the job files of the README are those
// that the tests run.
func TestReadmeShowsJobFiles(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/jobs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no job files: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "\n```yaml\n"+string(text)+"```\n") || !strings.Contains(string(readme), "cli/"+path) {
			t.Errorf("the README does not show %s", path)
		}
	}
}
