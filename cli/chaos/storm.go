package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// count is how often a kind of fault was tried.
type count struct{ done, skipped, failed int }

// deck yields kinds of faults in random order, each as often as its weight
// says before any comes again.
type deck struct {
	all, left []fault
	random    *rand.Rand
}

func newDeck(kinds []string, r *rand.Rand) (*deck, error) {
	d := &deck{random: r}
	for _, f := range faults() {
		if len(kinds) > 0 && !slices.Contains(kinds, f.kind) {
			continue
		}
		for range max(f.weight, min(len(kinds), 1)) {
			d.all = append(d.all, f)
		}
	}
	for _, k := range kinds {
		if !slices.ContainsFunc(d.all, func(f fault) bool { return f.kind == k }) {
			return nil, fmt.Errorf("there is no fault %q", k)
		}
	}
	return d, nil
}

func (d *deck) next() fault {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.all)
		d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	f := d.left[0]
	d.left = d.left[1:]
	return f
}

// storm breaks things until time is up or ctx ends. In a third of the cases
// two at a time, of which each is on something else.
func (l *lab) storm(ctx context.Context) error {
	r := rand.New(rand.NewPCG(l.seed, 1<<32))
	d, err := newDeck(l.kinds, r)
	if err != nil {
		return err
	}
	for end := time.Now().Add(l.time); time.Now().Before(end) && ctx.Err() == nil; {
		first := d.next()
		both := []fault{first}
		if r.IntN(3) == 0 {
			if second := d.next(); second.on != first.on && second.on != alone && first.on != alone {
				both = append(both, second)
			} else {
				d.left = append(d.left, second)
			}
		}
		var hitting sync.WaitGroup
		for _, f := range both {
			own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
			hitting.Go(func() { l.hit(f, own) })
		}
		hitting.Wait()
		time.Sleep(span(r, 0, l.pause))
	}
	return nil
}

// hit inflicts one fault and notes how that went.
func (l *lab) hit(f fault, r *rand.Rand) {
	l.say("%-20s begins", f.kind)
	what, err := f.do(l, r)
	l.mu.Lock()
	c := l.counts[f.kind]
	if c == nil {
		c = &count{}
		l.counts[f.kind] = c
	}
	switch {
	case err == nil:
		c.done++
	case errors.Is(err, errSkipped):
		c.skipped++
	default:
		c.failed++
	}
	l.mu.Unlock()
	if err == nil {
		l.say("%-20s %s", f.kind, what)
		return
	}
	l.say("%-20s %s: %v", f.kind, what, err)
	if !errors.Is(err, errSkipped) {
		l.find("comes back", fmt.Sprintf("after %s on %s: %v", f.kind, what, err))
	}
}

// calm ends the launching, and waits until every task has ended and nothing of
// a framework that was given up is left.
func (l *lab) calm(ctx context.Context) error {
	close(l.quiet)
	ctx, cancel := context.WithTimeout(ctx, l.settle)
	defer cancel()
	for {
		waiting, live := int64(0), 0
		for _, a := range l.authors {
			waiting += a.waiting.Load()
		}
		tasks, err := l.operator.tasks(ctx)
		if err != nil {
			return err
		}
		var last string
		for _, t := range tasks {
			if !t.State.Terminal() {
				live++
				last = fmt.Sprintf("%s:%s is %s on %s", t.Framework, t.ID, t.State, t.Agent)
			}
		}
		left, err := l.forgotten(ctx)
		if err != nil {
			return err
		}
		if waiting == 0 && live == 0 && left == 0 {
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("after %v frameworks still wait for %d tasks, the masters have %d that live (%s), and %d frameworks that were given up are not removed",
				l.settle, waiting, live, last, left)
		}
	}
}

// forgotten counts the frameworks that were given up and are not removed yet.
func (l *lab) forgotten(ctx context.Context) (int, error) {
	frameworks, err := l.operator.frameworks(ctx)
	if err != nil {
		return 0, err
	}
	given := givenUp(l.book.all())
	n := 0
	for _, f := range frameworks {
		if given[f.ID] && !f.Removed {
			n++
		}
	}
	return n, nil
}
