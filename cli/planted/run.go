package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// verdict is what became of one bug.
type verdict struct {
	bug     *bug
	caught  []string // tests that failed, as "package test"
	missed  []string // tests that should have
	skipped []string // tests that this machine can't run
	err     error    // why nothing can be said
	took    time.Duration
}

// String is one or two words for the table.
func (v verdict) String() string {
	switch {
	case v.err != nil:
		return "unclear"
	case len(v.missed) > 0:
		return "SURVIVES"
	case len(v.caught) > 0:
		return "caught"
	default:
		return "skipped"
	}
}

func (v verdict) good() bool { return v.err == nil && len(v.missed) == 0 }

// judge plants a bug and runs the tests that must catch it.
func judge(ctx context.Context, root string, b *bug, limit time.Duration) (v verdict) {
	v.bug = b
	begin := time.Now()
	defer func() { v.took = time.Since(begin) }()
	dir, err := os.MkdirTemp("", "planted-")
	if err != nil {
		v.err = err
		return v
	}
	defer os.RemoveAll(dir)
	overlay, err := b.overlay(root, dir)
	if err != nil {
		v.err = err
		return v
	}
	for _, t := range b.tests {
		o, err := run(ctx, root, t, limit, "-overlay="+overlay)
		if err != nil {
			v.err = fmt.Errorf("%s: %w", b.id, err)
			return v
		}
		for _, name := range t.names {
			switch test := t.pkg + " " + name; o.ended[name] {
			case "fail":
				v.caught = append(v.caught, test)
			case "skip":
				v.skipped = append(v.skipped, test)
			default:
				v.missed = append(v.missed, test)
			}
		}
	}
	return v
}

// overlay writes what the compiler is to take in the place of the real file.
func (b *bug) overlay(root, dir string) (string, error) {
	text, err := b.plant(root)
	if err != nil {
		return "", err
	}
	changed, path := filepath.Join(dir, "bug.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, b.file): changed}})
	return path, errors.Join(err, os.WriteFile(changed, text, 0o600), os.WriteFile(path, list, 0o600))
}

// outcome is how the tests of a package ended.
type outcome struct {
	ended map[string]string // "pass", "fail" or "skip", by test; a test that did not end, or never began, is missing
	text  string            // all that was printed
}

// event is one line of go test -json.
type event struct {
	Action, Test, Output string
}

var errHung = errors.New("it was noticed only because a test waited until its time was up")

// run runs tests of one package, with flags more in GOFLAGS. An error says
// that they could not be run to an end.
func run(ctx context.Context, root string, t tests, limit time.Duration, flags ...string) (outcome, error) {
	o := outcome{ended: map[string]string{}}
	args := []string{"test", "-json", "-vet=off", "-timeout=" + limit.String(), "-run=^(" + strings.Join(t.names, "|") + ")$", t.pkg}
	if len(flags) > 0 { // Go does not know what programs a test builds, and might remember that it passed
		args = slices.Insert(args, 1, "-count=1")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.Join(append(flags, os.Getenv("GOFLAGS")), " "))
	cmd.WaitDelay = limit // for what a killed test has started
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return o, err
	}
	begun := ""
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		o.text += e.Output
		switch {
		case e.Action == "build-fail":
			return o, fmt.Errorf("it does not compile: %s", o.text)
		case e.Action == "run" && !strings.Contains(e.Test, "/"):
			begun = e.Test
		case slices.Contains([]string{"pass", "fail", "skip"}, e.Action) && e.Test != "":
			o.ended[e.Test] = e.Action
		case e.Action == "fail" && strings.Contains(o.text, "panic: test timed out"):
			return o, errHung
		case e.Action == "fail" && begun != "" && o.ended[begun] == "": // the process died with it
			o.ended[begun] = "fail"
		}
	}
	if failed != nil && !slices.Contains(values(o.ended), "fail") {
		return o, fmt.Errorf("go test failed, and none of the tests did: %s%s", o.text, failed.Stderr)
	}
	return o, nil
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// sound runs the tests without any bug: a test that fails anyway catches
// nothing. Go remembers what passed, so this costs little the second time.
func sound(ctx context.Context, root string, list []tests, limit time.Duration) error {
	for _, t := range list {
		o, err := run(ctx, root, t, limit)
		if err != nil {
			return fmt.Errorf("%s without a bug: %w", t.pkg, err)
		}
		for _, name := range t.names {
			switch o.ended[name] {
			case "":
				return fmt.Errorf("%s: there is no test %s", t.pkg, name)
			case "fail":
				return fmt.Errorf("%s %s fails without a bug:\n%s", t.pkg, name, o.text)
			}
		}
	}
	return nil
}
