package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// groups only have commands below them.
var groups = []string{"job", "role", "leader", "snapshot", "token", "bench"}

// TestEveryCommandHasAScript looks for a line of the scripts that runs each
// command and expects that it works; help and refusals are not enough.
func TestEveryCommandHasAScript(t *testing.T) {
	reference, err := os.ReadFile("REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, folder := range []string{"script", "cluster"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			scripts = append(scripts, string(text))
		}
	}
	lines := strings.Join(scripts, "\n")
	commands := regexp.MustCompile(`(?m)^### ringmaster (.+)$`).FindAllStringSubmatch(string(reference), -1)
	if len(commands) < 50 {
		t.Fatalf("REFERENCE.md has only %d commands", len(commands))
	}
	for _, c := range commands {
		// A line of a script, or of a shell script in it, but not what some output is like.
		runs := regexp.MustCompile(`(?m)^((?:[^!#s\n]|s[^t])[^!\n]*[ '(])?ringmaster ` + c[1] + `( [^\n]*)?$`)
		tried := false
		for _, line := range runs.FindAllString(lines, -1) {
			tried = tried || !strings.Contains(line, "--help") && !strings.Contains(line, "! ringmaster")
		}
		if group := strings.Contains("|"+strings.Join(groups, "|")+"|", "|"+c[1]+"|"); !tried && !group {
			t.Errorf("no script runs ringmaster %s and expects that it works", c[1])
		}
	}
}
