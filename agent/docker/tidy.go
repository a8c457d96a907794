package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// leftover is the filter that finds a container which is to go.
type leftover struct{ by, value string }

// lateness is how long after an engine answers again it may still make a
// container that it was asked for before.
const lateness = time.Minute

// leave keeps in mind what is to be removed when the engine answers.
func (x *Executor) leave(l leftover) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left[l] = time.Time{}
}

// Untidy reports whether there is something for Tidy to do.
func (x *Executor) Untidy() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.left) > 0
}

// Tidy removes the containers that could not be removed when they were to go,
// or that an engine may have made without an answer. It is called again and
// again while Untidy, by one goroutine.
func (x *Executor) Tidy(ctx context.Context) error {
	x.mu.Lock()
	todo := slices.Collect(maps.Keys(x.left))
	x.mu.Unlock()
	var failed error
	for _, l := range todo {
		found, err := x.engine.list(ctx, l.by, l.value)
		if err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
		for _, c := range found {
			err = errors.Join(err, x.engine.remove(ctx, c.ID, true))
		}
		if failed = errors.Join(failed, err); err == nil {
			x.settle(l, len(found) > 0)
		}
	}
	return failed
}

// settle forgets what is gone, and at last what never came.
func (x *Executor) settle(l leftover, removed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	since := x.left[l]
	switch {
	case removed || l.by == "id" || !since.IsZero() && time.Since(since) > lateness:
		delete(x.left, l)
	case since.IsZero():
		x.left[l] = time.Now()
	}
}
