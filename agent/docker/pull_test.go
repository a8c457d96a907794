package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestPullForReal fetches an image from a registry, or doesn't, as the policy
// says.
func TestPullForReal(t *testing.T) {
	b := newBench(t)
	registry := b.real.Registry()
	for _, c := range []struct {
		pull    offers.Pull
		fetches bool
		fails   bool
	}{
		{offers.PullNever, false, true}, {offers.PullMissing, true, false}, {offers.PullMissing, false, false},
		{offers.PullNever, false, false}, {offers.PullAlways, true, false},
	} {
		s := b.spec("f:t", "out=hello")
		s.Image, s.Pull = registry.Image, c.pull
		told := false
		s.Fetching = func() { told = true }
		before := registry.Asked.Load()
		one, err := b.Prepare(context.Background(), s)
		if asked := registry.Asked.Load() > before; asked != c.fetches || told != c.fetches || (err != nil) != c.fails {
			t.Fatalf("%+v: asked %v, told %v, %v", c, asked, told, err)
		}
		if c.fails {
			continue
		}
		one.Open()
		if exit, err := one.Wait(func() {}); err != nil || exit.Code != 0 || content(t, s.Sandbox, "stdout") != "hello" {
			t.Errorf("%+v: %+v %v", c, exit, err)
		}
		if err := one.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRegistry says in one sentence which image there is none of, and why.
func TestNoRegistry(t *testing.T) {
	b := newBench(t)
	for _, pull := range []offers.Pull{offers.PullMissing, offers.PullAlways} {
		s := b.spec("f:t")
		s.Image, s.Pull = "127.0.0.1:1/ringmaster/busy", pull
		_, err := b.Prepare(context.Background(), s)
		if !errors.Is(err, docker.ErrImage) || !strings.HasPrefix(err.Error(), `the image can't be had: fetch "127.0.0.1:1/ringmaster/busy": `) || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", pull, err)
		}
	}
}
