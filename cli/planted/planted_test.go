package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestListsFit holds that every bug can still be planted, without planting
// it: what it changes is there exactly once, what comes out is Go, and the
// tests that are to catch it exist.
func TestListsFit(t *testing.T) {
	promises, err := readLists("testdata/bugs")
	if err != nil {
		t.Fatal(err)
	}
	if len(promises) != 13 {
		t.Errorf("%d promises, want 13", len(promises))
	}
	known := map[string][]string{}
	for _, p := range promises {
		if len(p.bugs) == 0 {
			t.Errorf("%s: no bug breaks it", p.name)
		}
		for _, b := range p.bugs {
			text, err := b.plant(root)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := parser.ParseFile(token.NewFileSet(), b.file, text, 0); err != nil {
				t.Errorf("%s: %v", b.id, err)
			}
			for _, list := range b.tests {
				if known[list.pkg] == nil {
					known[list.pkg] = testsOf(t, filepath.Join(root, list.pkg))
				}
				for _, name := range list.names {
					if !slices.Contains(known[list.pkg], name) {
						t.Errorf("%s: there is no test %s in %s", b.id, name, list.pkg)
					}
				}
			}
		}
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// garden is a module with one function, its tests, and lists of bugs.
func garden(t *testing.T, list string) config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module garden\n\ngo 1.26\n",
		"add.go": "package garden\n\nfunc add(a, b int) int {\n\treturn a + b\n}\n",
		"add_test.go": "package garden\n\nimport \"testing\"\n\n" +
			"func TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n\n" +
			"func TestZero(t *testing.T) {\n\tif add(0, 0) != 0 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n\n" +
			"func TestSkipped(t *testing.T) {\n\tt.Skip(\"not here\")\n}\n",
		"bugs/one.txt": "promise 1: sums are\nright.\n\n" + list,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config{root: dir, lists: filepath.Join(dir, "bugs")}
}

// planting writes a bug of the garden that puts expression in the place of the sum.
func planting(id, expression, tests string) string {
	return fmt.Sprintf("%s: it is wrong\n\tadd.go\n\tcaught by . %s\n-\treturn a + b\n+\treturn %s\n", id, tests, expression)
}

func TestVerdicts(t *testing.T) {
	c := garden(t, strings.Join([]string{
		planting("minus", "a - b", "TestAdd"),
		planting("half-seen", "a - b", "TestAdd TestZero"),
		planting("same", "b + a", "TestAdd"),
		planting("crash", "a / (b - b)", "TestAdd"),
		planting("broken", "a +* b", "TestAdd"),
		planting("hangs", "func() int { select {} }()", "TestAdd"),
		planting("elsewhere", "a - b", "TestSkipped"),
		strings.Replace(planting("stale", "a - b", "TestAdd"), "-\treturn a + b", "-\treturn a ^ b", 1),
	}, "\n"))
	var out, problems strings.Builder
	code := command(t.Context(), []string{"-root", c.root, "-lists", c.lists, "-limit", "3s"}, &out, &problems)
	if code != 1 || !strings.Contains(problems.String(), "5 of 8 bugs were not caught") {
		t.Errorf("exit code %d, %s", code, problems.String())
	}
	for id, want := range map[string]string{
		"minus": "caught . TestAdd", "half-seen": "SURVIVES . TestAdd", "same": "SURVIVES", "crash": "caught . TestAdd",
		"broken": "unclear", "hangs": "unclear", "elsewhere": "skipped", "stale": "unclear",
	} {
		row := regexp.MustCompile(`(?m)^` + id + ` +promise 1 +([A-Za-z]+) +[0-9.]+ *(.*)$`).FindStringSubmatch(out.String())
		if row == nil || strings.TrimSpace(row[1]+" "+row[2]) != want {
			t.Errorf("%s is told as %q, want %q", id, row, want)
		}
	}
	for _, want := range []string{
		"half-seen (it is wrong) SURVIVES . TestZero", "broken (it is wrong) unclear: broken: it does not compile",
		"hangs: it was noticed only because", "stale: the list is stale: what it replaces is 0 times in add.go",
		"8 bugs: 2 caught, 5 not, 1 skipped",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// A test that fails anyway, or is not there, catches nothing.
func TestSoundTestsOnly(t *testing.T) {
	for test, want := range map[string]string{
		"TestNowhere": ". : there is no test TestNowhere",
		"TestAdd":     ". TestAdd fails without a bug",
	} {
		c := garden(t, planting("minus", "a - b", test))
		wrong := "package garden\n\nfunc add(a, b int) int {\n\treturn a + b + 1 - 0*a\n}\n"
		if test == "TestAdd" {
			if err := os.WriteFile(filepath.Join(c.root, "add.go"), []byte(wrong), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out, problems strings.Builder
		if code := command(t.Context(), []string{"-root", c.root, "-lists", c.lists}, &out, &problems); code != 1 || !strings.Contains(problems.String(), strings.Replace(want, ". :", ".:", 1)) {
			t.Errorf("%s: exit code %d, %s", test, code, problems.String())
		}
	}
}

func TestBadListsAreRefused(t *testing.T) {
	for want, list := range map[string]string{
		"a bug begins with its name":    "minus it is wrong\n\tadd.go\n",
		"is missing":                    "minus: it is wrong\n\tadd.go\n\tcaught by . TestAdd\n",
		"takes a package and tests":     "minus: it is wrong\n\tadd.go\n\tcaught by .\n-a\n",
		"says nothing":                  "minus: it is wrong\n\tadd.go\n\tcaught by . TestAdd\n*a\n",
		"there are two bugs minus":      planting("minus", "a - b", "TestAdd") + "\n" + planting("minus", "a - b", "TestAdd"),
		"no bug is called plus or time": planting("minus", "a - b", "TestAdd"),
	} {
		c := garden(t, list)
		var out, problems strings.Builder
		if code := command(t.Context(), []string{"-root", c.root, "-lists", c.lists, "-bug", "plus,time"}, &out, &problems); code != 1 || !strings.Contains(problems.String(), want) {
			t.Errorf("exit code %d, %s; want %q", code, problems.String(), want)
		}
	}
	var out, problems strings.Builder
	if code := command(t.Context(), []string{"-jobs", "0"}, &out, &problems); code != 2 {
		t.Errorf("no jobs: exit code %d", code)
	}
}
