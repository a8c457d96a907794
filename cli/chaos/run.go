package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// run is one run of the nemesis. It reports whether every promise was kept; an
// error says that it could not be carried out.
func run(ctx context.Context, c config) (kept bool, err error) {
	l, err := newLab(c)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.raze()) }()
	l.say("seed %d, faults for %v, everything in %s", c.seed, c.time, c.folder)
	if err := l.raise(ctx); err != nil {
		return false, fmt.Errorf("start the cluster: %w", err)
	}
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer l.running.Wait()
	defer rest()
	if err := l.staff(working); err != nil {
		return false, err
	}
	l.running.Go(func() { l.watch.run(working, time.Second) })
	if err := l.storm(ctx); err != nil {
		return false, err
	}
	l.say("healed; waiting until everything is quiet")
	if err := l.calm(context.WithoutCancel(ctx)); err != nil {
		l.find("quiet", err.Error())
	}
	e, err := l.gather(context.WithoutCancel(ctx))
	if err != nil { // what there is tells why
		l.find("quiet", err.Error())
	}
	rest()
	l.running.Wait()
	tallies, findings, err := l.ear.judge(e, l.folder)
	if err != nil {
		return false, err
	}
	findings = slices.Concat(findings, judge(e), l.outside())
	l.report(e, tallies, findings)
	return len(findings) == 0, nil
}

// gather collects the evidence, as much as there is. What has just ended may take a moment to be
// gone from the host.
func (l *lab) gather(ctx context.Context) (e evidence, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range 30 {
		if e.runs = l.work.processes(); len(e.runs) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.entries = l.book.all()
	var unread, unheard error
	e.traces, unread = l.work.traces()
	e.tasks, unheard = l.operator.tasks(ctx)
	e.complete = unheard == nil && len(e.tasks) < state.MaxHistory
	return e, errors.Join(unread, unheard)
}

// outside returns what was found beside the histories.
func (l *lab) outside() []finding {
	_, _, out := l.watch.found()
	for _, d := range slices.Concat(l.masters, l.agents) {
		d.mu.Lock()
		for _, s := range d.strange {
			out = append(out, finding{"comes back", s, ""})
		}
		d.mu.Unlock()
	}
	for _, p := range panics(l.folder) {
		out = append(out, finding{"comes back", p, ""})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.failovers {
		if _, ok := l.book.firstOffer(f.old); !ok {
			out = append(out, finding{"comes back", fmt.Sprintf("no offer came after the leader of term %d was killed at %s", f.old, f.at.UTC().Format(clock)), ""})
		}
	}
	return append(out, l.findings...)
}
