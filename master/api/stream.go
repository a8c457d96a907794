package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// streamPatience is how long a stream that broke off is asked for again
	// without success: masters elect a leader and agents restart in less.
	streamPatience = 30 * time.Second
	// refusalPatience is that for one that is refused, which waiting hardly
	// changes.
	refusalPatience = 3 * time.Second
	streamPause     = 300 * time.Millisecond
)

// Insist calls stretch until that says that a stream is over, or was of no use
// for 30 s, and returns its error. some is whether a stretch got anywhere.
func Insist(ctx context.Context, stretch func(context.Context) (over, some bool, err error)) error {
	since := time.Now()
	for {
		over, some, err := stretch(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over:
			return err
		case some:
			since = time.Now()
		case time.Since(since) >= PatienceFor(err):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(streamPause):
		}
	}
}

// PatienceFor is how long [Insist] went on with an error.
func PatienceFor(err error) time.Duration {
	var refused *AnswerError
	if errors.As(err, &refused) && refused.Status/100 == 4 {
		return refusalPatience
	}
	return streamPatience
}

// Of a master that serves a stream.
const (
	attendEvery = 5 * time.Second
	attendMiss  = 2 // in a row
)

var errSilent = errors.New("the master that sends it does not answer any more")

// Stream asks for an answer that may take for ever, with pauses of any length.
// A master that is stopped or cut off ends it: it is asked now and then whether
// it lives. done ends and waits for that; it closes the body. Each master is asked
// once: [Insist] goes on.
func (cl *Client) Stream(ctx context.Context, path string) (resp *http.Response, done func(), err error) {
	over := cl.Waits()
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err = cl.round(ctx, http.MethodGet, path, nil, false)
	over()
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	host, attended := resp.Request.URL.Host, make(chan struct{})
	go func() {
		defer close(attended)
		cl.attend(ctx, host, cancel)
	}()
	return resp, func() {
		cancel(nil)
		<-attended
		_ = resp.Body.Close() // what matters was read
	}, nil
}

// attend cancels once a master is silent. It uses what is safe to share only.
func (cl *Client) attend(ctx context.Context, host string, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(attendEvery)
	defer tick.Stop()
	for missed := 0; missed < attendMiss; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if missed++; cl.probe(ctx, host) == nil {
			missed = 0
		}
	}
	cancel(errSilent)
}

// Broke is the error of a stream whose reading failed.
func Broke(err error) error { return fmt.Errorf("the stream broke off: %w", err) }
