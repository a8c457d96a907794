package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ringmaster-project/ringmaster"

// shim is a program of its own, which the agent embeds.
const shim = "agent/process/shim"

// helper asks NVIDIA's driver; the agent embeds it too.
const helper = "agent/discovery/nvidia/helper"

// floors is the house: a package imports only from floors below its own. The
// longest prefix of a package's path counts.
var floors = map[string]float64{
	"offers":            0,
	"offers/heap":       0,
	"offers/door":       0.5,
	"offers/meter":      0.5,
	"offers/pages":      0.5,
	"offers/scan":       0,
	"offers/spell":      0.5,
	"offers/witness":    0.5,
	"offers/wire":       1,
	"rings":             1,
	"master/state":      1,
	"master/events":     2,
	"master/api":        2.2,
	"master/match":      2,
	"master/lead":       2.5,
	"agent":             2,
	"framework":         2,
	"framework/jobs":    2.5,
	"master/ui":         3,
	"master/mesos":      3,
	"master":            3,
	"cli/chaos":         5,
	"cli/linear":        3.5,
	"cli/load":          4,
	"cli/sim":           4,
	"cli":               5,
	"cli/ringmaster":    6,
	"framework/example": 6,
}

// families may import each other on one floor: a daemon and what it is made of.
var families = []string{"agent", "framework", "master", "offers", "rings"}

// owners are the only importers of a library outside of tests.
var owners = map[string][]string{
	"github.com/hashicorp/raft":         {"master"},
	"github.com/NVIDIA/go-nvml":         {"agent/discovery/nvidia"},
	"go.etcd.io/bbolt":                  {"agent", "master"},
	"github.com/gorilla/websocket":      {"offers/wire"},
	"github.com/creack/pty":             {"agent"},
	"github.com/urfave/cli/v2":          {"cli"},
	"go.opentelemetry.io":               {"cli"},
	"charm.land/bubbletea/v2":           {"cli"},
	"github.com/goccy/go-yaml":          {"cli", "framework/jobs"},
	"github.com/robfig/cron/v3":         {"framework/jobs"},
	"github.com/anishathalye/porcupine": {"cli/linear"},
	"os/exec":                           {"agent", "cli"},
	"os/signal":                         {"cli", "framework/example", shim},
	"flag":                              {"cli", "framework/example"},
}

// readers of the environment.
var environment = []string{"cli", "framework/example", shim, helper}

type source struct {
	folder string // relative to the module, "." for its root
	path   string
	file   *ast.File
}

// sources parses every file of the module that is no test.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var out []source
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "shared") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		out = append(out, source{filepath.ToSlash(folder), path, f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d files were found below %s", len(out), root)
	}
	return out
}

func floorOf(folder string) (float64, bool) {
	for at := folder; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if f, ok := floors[at]; ok {
			return f, true
		}
	}
	return 0, false
}

func within(folder string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return folder == r || strings.HasPrefix(folder, r+"/") })
}

func top(folder string) string {
	first, _, _ := strings.Cut(folder, "/")
	return first
}

// testSupport is a package that only tests import, such as frameworktest.
func testSupport(folder string) bool { return strings.HasSuffix(folder, "test") }

// complaint says why folder must not import path, or "".
func complaint(folder, path string) string {
	own, inside := strings.CutPrefix(path, module+"/")
	if !inside {
		for lib, roots := range owners {
			if (path == lib || strings.HasPrefix(path, lib+"/")) && !within(folder, roots...) {
				return "only " + strings.Join(roots, " and ") + " may"
			}
		}
		return ""
	}
	mine, known := floorOf(folder)
	theirs, knownToo := floorOf(own)
	if !known || !knownToo {
		return "one of them has no floor: give it one here"
	}
	daemons := []string{"master", "agent", "framework"}
	a, b := top(folder), top(own)
	switch {
	case testSupport(own) && !testSupport(folder):
		return "it is for tests"
	case slices.Contains(daemons, a) && slices.Contains(daemons, b) && a != b && !testSupport(folder):
		return "master, agent and framework never import each other"
	case a == b && theirs == mine && slices.Contains(families, a):
		return ""
	case theirs >= mine:
		return "it is not on a floor below"
	}
	return ""
}

func TestImportOrder(t *testing.T) {
	for _, s := range sources(t) {
		if testSupport(s.folder) {
			continue
		}
		for _, imp := range s.file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := complaint(s.folder, path); why != "" {
				t.Errorf("%s imports %s: %s", s.path, path, why)
			}
		}
	}
}

func TestImportOrderRefuses(t *testing.T) {
	for _, c := range []struct{ folder, path string }{
		{"offers", module + "/rings"},
		{"offers", module + "/offers/wire"},
		{"rings", module + "/master/match"},
		{"master", module + "/agent"},
		{"agent/process", module + "/framework"},
		{"framework", module + "/master/state"},
		{"master", module + "/cli"},
		{"master/state", module + "/master/match"},
		{"master/match", module + "/master"},
		{"master/match", module + "/master/lead"},
		{"master/state", module + "/offers/wire"},
		{"cli", module + "/framework/frameworktest"},
		{"offers", module + "/offers/door"},
		{"agent", "github.com/hashicorp/raft"},
		{"master/match", "os/exec"},
		{"cli", "github.com/gorilla/websocket"},
		{"agent", "flag"},
		{"elsewhere", module + "/offers"},
	} {
		if complaint(c.folder, c.path) == "" {
			t.Errorf("%s may import %s, and must not", c.folder, c.path)
		}
	}
	for _, c := range []struct{ folder, path string }{
		{"master", module + "/master/match"},
		{"cli", module + "/master"},
		{"agent", module + "/agent/process"},
		{"master/match", module + "/rings"},
		{"offers/wire", module + "/offers"},
	} {
		if why := complaint(c.folder, c.path); why != "" {
			t.Errorf("%s must not import %s (%s), and may", c.folder, c.path, why)
		}
	}
}

// TestEnvironmentOnlyInCLI finds calls of os.Getenv and its like elsewhere.
func TestEnvironmentOnlyInCLI(t *testing.T) {
	for _, s := range sources(t) {
		if within(s.folder, environment...) || testSupport(s.folder) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			reads := []string{"Getenv", "LookupEnv", "Args", "Exit", "ExpandEnv"}
			if ok && pkg.Name == "os" && slices.Contains(reads, sel.Sel.Name) {
				t.Errorf("%s uses os.%s: flags, environment and exit codes are the command line's", s.path, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestPackageComments wants one comment per package, in doc.go or main.go.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if _, seen := comments[s.folder]; !seen {
			comments[s.folder] = nil
		}
		if s.file.Doc != nil {
			comments[s.folder] = append(comments[s.folder], filepath.Base(s.path))
		}
	}
	for folder, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s has %d package comments %v; it has one, in doc.go", folder, len(files), files)
		}
	}
}

func TestWalkStartsAtModule(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil || !strings.HasPrefix(string(text), "module "+module+"\n") {
		t.Fatalf("the module's root is not one up: %v", err)
	}
}
