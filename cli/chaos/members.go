package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// follower returns a master that does not lead.
func (l *lab) follower(r *rand.Rand) (*daemon, error) {
	leader, _, err := l.leader()
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(l.masters), func(d *daemon) bool { return d == leader })
	return others[r.IntN(len(others))], nil
}

// transferLeader asks for another leader, in half of the cases for a certain
// one. It is refused while there is none, or while that one is behind.
func transferLeader(l *lab, r *rand.Rand) (string, error) {
	old, term, err := l.leader()
	if err != nil {
		return "", err
	}
	body, what := `{}`, "anybody"
	if r.IntN(2) == 0 {
		d, err := l.follower(r)
		if err != nil {
			return "", err
		}
		body, what = fmt.Sprintf(`{"to": %q}`, d.name), d.name
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	how := fmt.Sprintf("%s in term %d to %s", old.name, term, what)
	if err := l.operator.ask(ctx, "POST", "/v1/leader/transfer", body, nil); err != nil {
		return how, fmt.Errorf("%w: %w", errSkipped, err)
	}
	return how, nil
}

// replaceMaster takes a follower out for good, and puts a new master with an
// empty disk in its place.
func replaceMaster(l *lab, r *rand.Rand) (string, error) {
	d, err := l.follower(r)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return d.name, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), comeBack)
	defer cancel()
	if err := l.operator.ask(ctx, "POST", "/v1/masters/"+d.name+"/remove", "", nil); err != nil {
		return d.name, errors.Join(fmt.Errorf("remove it: %w", err), again(d))
	}
	if err := empty(d.folder); err != nil {
		return d.name, err
	}
	time.Sleep(span(r, 0, 2*time.Second))
	if err := again(d); err != nil {
		return d.name, err
	}
	return d.name, l.awaitMembers(ctx, len(l.masters))
}

// empty removes what is in a folder, which may be the root of a disk.
func empty(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.RemoveAll(filepath.Join(folder, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// awaitMembers waits until the cluster has so many masters.
func (l *lab) awaitMembers(ctx context.Context, n int) error {
	for {
		have, err := l.operator.masters(ctx)
		if err != nil {
			return err
		}
		if have == n {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the cluster has %d masters and not %d", have, n)
		}
	}
}
