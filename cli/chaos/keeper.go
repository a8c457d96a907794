package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// hoard is a framework that does nothing but keep a store. Several keepers
// share it, each a program of its own as the masters see it: whoever connects
// fences the one before.
type hoard struct {
	name    string
	keepers int
	timeout time.Duration // its failover timeout
	stays   time.Duration // how long a keeper stays at most
	rests   func(*rand.Rand) time.Duration
	began   time.Time

	mu  sync.Mutex
	id  offers.FrameworkID
	old []string // keys of generations that are over, as last listed
}

// keeper is one of the programs.
type keeper struct {
	*hoard
	name    string
	masters []string
	dial    func(context.Context, string) (wire.Link, error)
	log     hclog.Logger
	quiet   <-chan struct{}
	random  *rand.Rand
}

const (
	hands      = 3 // calls of one keeper at a time
	generation = 6 * time.Second
	// patience is for one call. It is shorter than most faults, so that calls
	// begin while a master is stopped: only those can show a stale answer.
	patience = 1500 * time.Millisecond
)

// run lives until ctx ends or all is to be quiet.
func (k *keeper) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-k.quiet:
			cancel()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		k.shift(ctx)
		select {
		case <-time.After(k.rests(k.random)):
		case <-ctx.Done():
		}
	}
}

// shift is one connection from its first registration to its end.
func (k *keeper) shift(ctx context.Context) {
	c, err := k.connect(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, span(k.random, k.stays/4, k.stays))
	defer cancel()
	var working sync.WaitGroup
	defer working.Wait()
	for range hands {
		r := rand.New(rand.NewPCG(k.random.Uint64(), 3<<32))
		working.Go(func() { k.toil(ctx, c, r) })
	}
	for { // its events say nothing that the ear does not hear
		if _, err := c.Next(ctx); err != nil {
			cancel()
			return
		}
	}
}

// connect takes over, or begins where there is nothing to take over.
func (k *keeper) connect(ctx context.Context) (*framework.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	k.mu.Lock()
	id := k.id
	if id == "" {
		defer k.mu.Unlock() // there is one framework only
	} else {
		k.mu.Unlock()
	}
	timeout := offers.Duration(k.timeout)
	c, err := framework.Connect(ctx, framework.Config{
		Masters: k.masters, Dial: k.dial, Logger: k.log,
		Info: wire.FrameworkInfo{ID: id, Name: k.hoard.name, Role: "chaos/keeper", FailoverTimeout: &timeout},
	})
	if id == "" && err == nil {
		k.id = c.ID()
	}
	if errors.Is(err, &offers.Error{Code: offers.FrameworkRemoved}) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.id == id {
			k.id = ""
		}
	}
	return c, err
}

// toil calls the store until ctx ends.
func (k *keeper) toil(ctx context.Context, c *framework.Client, r *rand.Rand) {
	versions := map[string]uint64{}
	for n := 0; ctx.Err() == nil; n++ {
		prefix := fmt.Sprintf("%d/", time.Since(k.began)/generation)
		key := prefix + string(rune('a'+r.IntN(3)))
		within, cancel := context.WithTimeout(ctx, patience)
		k.call(within, c, r, key, prefix, versions)
		cancel()
		select {
		case <-time.After(span(r, 20*time.Millisecond, 120*time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

// call does one thing. How it ends is heard on the wire; here only versions
// are of interest.
func (k *keeper) call(ctx context.Context, c *framework.Client, r *rand.Rand, key, prefix string, versions map[string]uint64) {
	known := versions[key]
	value := json.RawMessage(fmt.Sprintf("\"%s-%x\"", k.name, r.Uint32()))
	switch n := r.IntN(100); {
	case n < 40:
		if _, version, err := c.Get(ctx, key); err == nil {
			versions[key] = version
		}
	case n < 65:
		if version, err := c.Put(ctx, key, value, &known); err == nil {
			versions[key] = version
		}
	case n < 75:
		if version, err := c.Put(ctx, key, value, nil); err == nil {
			versions[key] = version
		}
	case n < 81:
		if c.Delete(ctx, key, &known) == nil {
			versions[key] = 0
		}
	case n < 84:
		if c.Delete(ctx, key, nil) == nil {
			versions[key] = 0
		}
	case n < 90:
		if keys, err := c.List(ctx, ""); err == nil {
			k.mu.Lock()
			k.old = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix) })
			k.mu.Unlock()
		}
	default:
		k.sweep(ctx, c)
	}
}

// sweep deletes a key of a generation that is over, so that the store stays
// small.
func (k *keeper) sweep(ctx context.Context, c *framework.Client) {
	k.mu.Lock()
	var key string
	if len(k.old) > 0 {
		key, k.old = k.old[0], k.old[1:]
	}
	k.mu.Unlock()
	if key != "" {
		_ = c.Delete(ctx, key, nil) // the next list shows whether it was
	}
}

// hoards are two stores under much contention, and one framework that comes
// back at all times around its failover timeout.
func hoards() []*hoard {
	soon := func(r *rand.Rand) time.Duration { return span(r, 0, 3*time.Second) }
	const short = 4 * time.Second
	about := func(r *rand.Rand) time.Duration {
		if r.IntN(12) == 0 {
			return short + 62*time.Second // which package linear takes for too late
		}
		return span(r, 0, 2*short)
	}
	return []*hoard{
		{name: "k1", keepers: 3, timeout: longFailover, stays: 8 * time.Second, rests: soon, began: time.Now()},
		{name: "k2", keepers: 3, timeout: longFailover, stays: 8 * time.Second, rests: soon, began: time.Now()},
		{name: "late", keepers: 1, timeout: short, stays: 2 * time.Second, rests: about, began: time.Now()},
	}
}
