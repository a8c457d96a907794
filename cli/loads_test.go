package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestLoads: each load that `make load` takes is one that bench knows, and is
// among the figures of the README.
func TestLoads(t *testing.T) {
	commands := map[string]*cli.Command{"run": benchRunCommand(), "recover": benchRecoverCommand()}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/loads/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there is none", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		about, load, _ := strings.Cut(string(text), "\n")
		words := strings.Fields(load)
		if !strings.HasPrefix(about, "# ") || len(words) == 0 || commands[words[0]] == nil {
			t.Errorf("%s is not a comment and a command of bench:\n%s", name, text)
			continue
		}
		flags := flag.NewFlagSet(name, flag.ContinueOnError)
		for _, f := range commands[words[0]].Flags {
			if err := f.Apply(flags); err != nil {
				t.Fatal(err)
			}
		}
		if err := flags.Parse(words[1:]); err != nil || flags.NArg() > 0 {
			t.Errorf("%s: %v, and %q are no flags", name, err, flags.Args())
		}
		if !strings.Contains(string(readme), "| `"+name+"`") {
			t.Errorf("README has no figure of the load %s", name)
		}
	}
}
