package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// promise is what the issue calls one, with the bugs that break it.
type promise struct {
	name string // "promise 2"
	says string
	bugs []*bug
}

// bug is one change of one file, and the tests that must fail with it.
type bug struct {
	id, says string
	file     string // from the module's root on
	tests    []tests
	old, new string
}

// tests are some tests of one package.
type tests struct {
	pkg   string // "./offers"
	names []string
}

// readLists reads every list in dir, in the order of their names.
func readLists(dir string) ([]*promise, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no list of bugs in %s", dir)
	}
	seen := map[string]bool{}
	var out []*promise
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := parseList(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, b := range p.bugs {
			if seen[b.id] {
				return nil, fmt.Errorf("%s: there are two bugs %s", path, b.id)
			}
			seen[b.id] = true
		}
		out = append(out, p)
	}
	return out, nil
}

// parseList reads one promise and its bugs.
func parseList(text string) (*promise, error) {
	head, rest, _ := strings.Cut(text, "\n\n")
	p := &promise{}
	var ok bool
	if p.name, p.says, ok = strings.Cut(strings.ReplaceAll(head, "\n", " "), ": "); !ok {
		return nil, fmt.Errorf("it does not begin with a promise but with %.60q", head)
	}
	for paragraph := range strings.SplitSeq(strings.Trim(rest, "\n"), "\n\n") {
		b, err := parseBug(paragraph)
		if err != nil {
			return nil, err
		}
		p.bugs = append(p.bugs, b)
	}
	return p, nil
}

func parseBug(paragraph string) (*bug, error) {
	lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
	b := &bug{}
	var ok bool
	if b.id, b.says, ok = strings.Cut(lines[0], ": "); !ok || strings.ContainsAny(b.id, " \t") {
		return nil, fmt.Errorf("a bug begins with its name, a colon and a sentence, not with %.60q", lines[0])
	}
	for _, line := range lines[1:] {
		if line == "" {
			return nil, fmt.Errorf("%s: an empty line has a space in front when it is part of the change", b.id)
		}
		switch mark, rest := line[0], line[1:]; {
		case mark == '\t' && strings.HasPrefix(rest, "caught by "):
			fields := strings.Fields(strings.TrimPrefix(rest, "caught by "))
			if len(fields) < 2 {
				return nil, fmt.Errorf("%s: caught by takes a package and tests", b.id)
			}
			b.tests = append(b.tests, tests{fields[0], fields[1:]})
		case mark == '\t' && b.file == "":
			b.file = rest
		case mark == ' ':
			b.old, b.new = b.old+rest+"\n", b.new+rest+"\n"
		case mark == '-':
			b.old += rest + "\n"
		case mark == '+':
			b.new += rest + "\n"
		default:
			return nil, fmt.Errorf("%s: the line %.60q says nothing", b.id, line)
		}
	}
	if b.file == "" || len(b.tests) == 0 || b.old == b.new {
		return nil, fmt.Errorf("%s: a file, the tests that catch it, or the change is missing", b.id)
	}
	return b, nil
}

// plant returns the file with the bug in it.
func (b *bug) plant(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return nil, fmt.Errorf("%s: the list is stale: %w", b.id, err)
	}
	if n := bytes.Count(text, []byte(b.old)); n != 1 {
		return nil, fmt.Errorf("%s: the list is stale: what it replaces is %d times in %s and not once", b.id, n, b.file)
	}
	return bytes.Replace(text, []byte(b.old), []byte(b.new), 1), nil
}

// all merges the tests of many bugs, each package once.
func all(bugs []*bug) []tests {
	byPackage := map[string][]string{}
	for _, b := range bugs {
		for _, t := range b.tests {
			byPackage[t.pkg] = append(byPackage[t.pkg], t.names...)
		}
	}
	var out []tests
	for pkg, names := range byPackage {
		slices.Sort(names)
		out = append(out, tests{pkg, slices.Compact(names)})
	}
	slices.SortFunc(out, func(a, b tests) int { return strings.Compare(a.pkg, b.pkg) })
	return out
}

// workingRoot returns the module's folder, absolute, as overlays need it.
func workingRoot(dir string) (string, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return "", fmt.Errorf("%s is not the folder of a module: %w", root, err)
	}
	return root, nil
}
