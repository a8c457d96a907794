package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

type fakeService struct {
	service
	err error
}

func (s fakeService) Run(context.Context) error { return s.err }

// What ends a cluster that was up is told as it is.
func TestServicesEnd(t *testing.T) {
	full := errors.New("the disk is full")
	for err, want := range map[error]string{full: "the agent ended: the disk is full", nil: "the agent ended: nobody asked it to"} {
		idle := &runningService{done: make(chan struct{})}
		s := devServices{idle, start(t.Context(), fakeService{err: err}), idle}
		got := s.wait(t.Context())
		if got == nil || got.Error() != want || err != nil && !errors.Is(got, err) {
			t.Errorf("%v; want %s", got, want)
		}
	}
}

// TestLookAround holds that what dev says to try next can be pasted where dev
// was started, the last line as it is.
func TestLookAround(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	for called, binary := range map[string]string{
		"bin/ringmaster": "bin/ringmaster", "ringmaster": "ringmaster", "/opt/my tools/ringmaster": "ringmaster", "./cli.test": "ringmaster",
	} {
		os.Args = []string{called}
		text := lookAround(defaultMasters, "http://"+defaultMasters)
		if lines := strings.Split(strings.TrimSpace(text), "\n"); lines[len(lines)-1] != "  "+binary+" run -- echo hello" {
			t.Errorf("called as %s it ends with %q", called, lines[len(lines)-1])
		}
		if !strings.Contains(text, "# or http://"+defaultMasters+" in a browser\n") {
			t.Errorf("it does not tell of the web page: %s", text)
		}
	}
}
