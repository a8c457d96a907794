package docker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestTidy: what could not be removed while the engine was away goes when it is
// back, and nothing else.
func TestTidy(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := onFake(t, f)
	gone, stays := specOf(t, "x", offers.PullNever), specOf(t, "x", offers.PullNever)
	stays.Key = "f:stays"
	c, other := prepare(t, x, gone), prepare(t, x, stays)
	f.Leave()
	if err := c.Remove(); !errors.Is(err, docker.ErrAway) {
		t.Errorf("removed without an engine: %v", err)
	}
	if err := x.Tidy(t.Context()); !errors.Is(err, docker.ErrAway) || !x.Untidy() {
		t.Errorf("tidied up without an engine: %v", err)
	}
	f.ComeBack()
	if err := x.Tidy(t.Context()); err != nil || x.Untidy() {
		t.Errorf("not tidied up: %v", err)
	}
	if left := f.Seen().Left; len(left) != 1 || left[0] != other.Identity().Container {
		t.Errorf("left are %v", left)
	}
}

// TestTidyLateContainers: a container that an engine makes after nobody waits
// for it any more goes too, though at first there is none.
func TestTidyLateContainers(t *testing.T) {
	f := dockertest.NewFake(t, "x")
	x := onFake(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	asked, goesOn, made := make(chan struct{}), make(chan struct{}), make(chan struct{})
	f.Set(func(s *dockertest.Settings) {
		s.Before = func(request string) {
			if request == "POST create" {
				close(asked)
				<-goesOn
			}
		}
		s.After = func(request string) {
			if request == "POST create" {
				close(made)
			}
		}
	})
	go func() { <-asked; cancel() }()
	if _, err := x.Prepare(ctx, specOf(t, "x", offers.PullNever)); err == nil {
		t.Error("there is a container")
	}
	if err := x.Tidy(t.Context()); err != nil || !x.Untidy() {
		t.Errorf("forgotten before it came: %v", err)
	}
	close(goesOn)
	<-made
	if len(f.Seen().Left) != 1 {
		t.Fatal("the engine made none")
	}
	if err := x.Tidy(t.Context()); err != nil || x.Untidy() || len(f.Seen().Left) != 0 {
		t.Errorf("left are %v, %v", f.Seen().Left, err)
	}
}
