package cli_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pure are the packages that decide and never act: no goroutine, clock, lock,
// I/O or log, so that tests and simulations drive them as they like.
var pure = []string{"offers", "rings", "master/state", "master/state/trie", "master/match", "master/lead", "agent/tasks", "framework/session"}

// impure are the imports and functions that such a package must not use.
var (
	impureImports = []string{"os", "net", "log", "sync", "context", "io/fs", "net/http", "github.com/hashicorp/go-hclog"}
	impureClock   = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
)

func TestPurePackages(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.folder) {
			continue
		}
		seen[s.folder] = true
		for _, why := range impurities(s.file) {
			t.Errorf("%s: %s", s.path, why)
		}
	}
	for _, p := range pure {
		if !seen[p] {
			t.Errorf("there is no package %s", p)
		}
	}
}

func impurities(f *ast.File) []string {
	var out []string
	for _, imp := range f.Imports {
		if path := strings.Trim(imp.Path.Value, `"`); slices.Contains(impureImports, path) {
			out = append(out, "imports "+path)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, "starts a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureClock, n.Sel.Name) {
				out = append(out, "reads the clock with time."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}
