package master

import (
	"context"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
)

// maxAsides is how many that ask for something long may wait for it or have it.
const maxAsides = 32

// asides are what the loop does for people that takes as long as many turns, such as
// explanations, whoever asks for how many of them. One is done at a time, and the next
// one after as long a time as it took, so that half of the loop's time is left to
// its work; beyond maxAsides they are refused.
type asides struct {
	places chan struct{}
	turn   chan time.Time // holds when the next one may begin, unless one is done
}

func newAsides() asides {
	a := asides{make(chan struct{}, maxAsides), make(chan time.Time, 1)}
	a.turn <- time.Time{}
	return a
}

// aside is [ask] for a query that takes long.
func aside[T any](ctx context.Context, l *loop, query func(*lead.Core) T) (out T, err error) {
	select {
	case l.asides.places <- struct{}{}:
		defer func() { <-l.asides.places }()
	default:
		return out, offers.Errorf(offers.RateLimited, "%d requests like this one wait already: ask again", maxAsides)
	}
	givenUp := offers.Errorf(offers.Unavailable, "the request was given up")
	var from time.Time
	select {
	case from = <-l.asides.turn:
	case <-ctx.Done():
		return out, givenUp
	}
	defer func() { l.asides.turn <- from }()
	rest := time.NewTimer(time.Until(from))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return out, givenUp
	}
	type result struct {
		value T
		ended time.Time
		took  time.Duration
	}
	// Who gives up waits all the same, or the next one would not know how long it took.
	got, err := ask(context.WithoutCancel(ctx), l, func(core *lead.Core, answer func(result, error)) {
		if ctx.Err() != nil {
			answer(result{}, givenUp)
			return
		}
		began := time.Now()
		value := query(core)
		ended := time.Now()
		answer(result{value, ended, ended.Sub(began)}, nil)
	})
	from = got.ended.Add(got.took)
	return got.value, err
}
