package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/cli"
)

// clients are the flags of every command that asks the masters.
var clients = []string{"--masters", "--token", "--ca", "--cert", "--key"}

// looks are the commands that show something, with those flags beside.
var looks = []string{"status", "masters", "agents", "frameworks", "tasks", "offers", "rings", "roles", "events"}

// commandLine runs a command line and returns what it wrote and its exit code.
func commandLine(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Main(t.Context(), append([]string{"ringmaster"}, args...), strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// TestInterface runs the command lines that users were promised, so that none is
// renamed or forgotten. Where no master answers all of them fail for that reason alone.
func TestInterface(t *testing.T) {
	text, err := os.ReadFile("testdata/interface.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "jobs", "squares.yaml")
	asked := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "help":
			flags := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
			if flags < 0 {
				flags = len(words)
			}
			wantFlags(t, words[1:flags], words[flags:])
		default:
			asked[words[0]] = true
			for i, w := range words {
				words[i] = strings.ReplaceAll(w, "squares.yaml", file)
			}
			words = slices.Insert(words, commandWords(words), "--masters", "127.0.0.1:1")
			out, complaint, code := commandLine(t, words...)
			if code != 1 || out != "" || !strings.HasPrefix(complaint, "ringmaster: no master answers at 127.0.0.1:1: ") {
				t.Errorf("%s: code %d, says %q and complains %q", strings.Join(words, " "), code, out, complaint)
			}
			wantFlags(t, words[:commandWords(words)], clients)
		}
	}
	for _, c := range looks {
		if wantFlags(t, []string{c}, []string{"--output", "--watch", "--no-color"}); !asked[c] {
			t.Errorf("%s is not run", c)
		}
		if _, complaint, code := commandLine(t, c, "-o", "xml", "--masters", "127.0.0.1:1"); code != 2 || !strings.Contains(complaint, "-o xml: it is table, wide or json") {
			t.Errorf("%s -o xml: code %d, complains %q", c, code, complaint)
		}
	}
}

// commandWords is how many words name the command.
func commandWords(words []string) int {
	if slices.Contains([]string{"job", "role", "leader", "snapshot", "token"}, words[0]) {
		return 2
	}
	return 1
}

// wantFlags fails where the help of a command lacks one of those flags, or an
// example.
func wantFlags(t *testing.T, name, flags []string) {
	t.Helper()
	help, _, code := commandLine(t, append(slices.Clone(name), "--help")...)
	if whole := strings.Join(name, " "); code != 0 || !strings.Contains(help, "Example") || !strings.Contains(help, "ringmaster "+whole) {
		t.Errorf("%s --help: code %d, or it has no example:\n%s", whole, code, help)
	}
	for _, f := range flags {
		if !strings.Contains(help, f+" ") && !strings.Contains(help, f+",") {
			t.Errorf("%s has no %s", strings.Join(name, " "), f)
		}
	}
}
