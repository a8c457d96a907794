package master

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// How long a follower waits before it asks a leader again that did not let it
// pre-match: at first, and at most.
const (
	firstAsking = time.Second
	lastAsking  = 30 * time.Second
)

// frameBytes bounds what a leader tells at once. It is far more than it ever
// does.
const frameBytes = 64 << 20

// following is a master's part in pre-matching while another one leads: it keeps
// a copy of the leader's agents and reads it when the leader asks. All is static;
// one goroutine runs it.
type following struct {
	replica interface {
		Leader() (replica.Member, bool)
		LeaderChanged() <-chan struct{}
		Self() replica.Member
	}
	door    *door.Door
	version string
	workers int // that read the copy at the same time
	logger  hclog.Logger
}

// run pre-matches for whoever leads, until ctx ends.
func (f *following) run(ctx context.Context) {
	wait, said := firstAsking, ""
	for ctx.Err() == nil {
		changed := f.replica.LeaderChanged()
		leader, ok := f.replica.Leader()
		again := make(<-chan time.Time)
		if ok && leader.HTTP != "" && leader.ID != f.replica.Self().ID {
			began := time.Now()
			err := f.assist(ctx, changed, leader)
			if time.Since(began) > lastAsking {
				wait, said = firstAsking, ""
			}
			if text := err.Error(); text != said && !errors.Is(err, context.Canceled) {
				said = text
				f.logger.Warn("does not pre-match for the leader any more", "leader", leader.Name, "error", err)
			}
			again = time.After(wait)
			wait = min(2*wait, lastAsking)
		} else if ok && leader.HTTP == "" {
			again = time.After(firstAsking) // it has not said where it is
		}
		select {
		case <-ctx.Done():
		case <-changed:
			wait, said = firstAsking, ""
		case <-again:
		}
	}
}

// assist pre-matches for a leader until the connection ends, which it does when
// ctx does or another master leads. It says why.
func (f *following) assist(ctx context.Context, changed <-chan struct{}, leader replica.Member) error {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	})
	at := url.URL{Scheme: "ws", Host: leader.HTTP, Path: wire.PrematchPath, RawQuery: url.Values{"build": {build(f.version)}}.Encode()}
	if f.door.Secure() {
		at.Scheme = "wss"
	}
	options := wire.Options{Message: frameBytes, Silence: longestSilence, Binary: true}
	link, err := wire.Dial(ctx, at.String(), wire.PrematchProtocol, f.door.Header(), f.door.ClientTLS(), options)
	if err != nil {
		return err
	}
	defer link.Close("this master stops pre-matching")
	defer context.AfterFunc(ctx, func() { link.End("this master follows another") })()
	f.logger.Info("pre-matches for the leader", "leader", leader.Name)
	if err := f.serve(link); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

// serve answers what the leader asks until the link ends.
func (f *following) serve(link wire.Link) error {
	agents := match.NewCopy(prematchers(f.workers))
	for {
		frame, err := link.Receive()
		if err != nil {
			return err
		}
		if err := agents.Take(frame, func(answer []byte) { _ = link.Send(answer) }); err != nil {
			return err
		}
	}
}
