package process

import (
	"context"
	"sync"
	"time"
)

// spares is how many shims wait for tasks that nobody knows of yet: a task that
// gets one starts some milliseconds sooner, and who it will be is known when
// its launch is written down. One has 2.6 MiB of memory resident.
const spares = 4

// A spare leaves its place when its task runs, or it is discarded, and not when it
// is taken: to start the next one just then would take the processor away from
// that task's start.

// spawnPause is how long it takes to the next try when no shim can be started.
const spawnPause = time.Second

// KeepSpares keeps spare shims until ctx ends, and then ends those that are left.
// Those of an agent that is killed find their gates closed, and end.
func (x *Executor) KeepSpares(ctx context.Context) {
	defer x.discardSpares()
	for {
		select {
		case x.places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		p, err := x.Spawn()
		if err == nil {
			p.leave = sync.OnceFunc(func() { <-x.places })
			x.spares <- p // there is room for as many as there are places
			continue
		}
		<-x.places // the next task, which finds no spare, tells why
		select {
		case <-time.After(spawnPause):
		case <-ctx.Done():
			return
		}
	}
}

// Spare returns a shim that waits, for one task, or nil if none does. It never
// waits for one.
func (x *Executor) Spare() *Process {
	for {
		select {
		case p := <-x.spares:
			if p.identity.Alive() {
				return p
			}
			p.Discard()
		default:
			return nil
		}
	}
}

func (x *Executor) discardSpares() {
	for {
		select {
		case p := <-x.spares:
			p.Discard()
		default:
			return
		}
	}
}
