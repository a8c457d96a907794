package master

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
)

const (
	// usageEvery is how often a master counts what is used. Counting reads all
	// agents and tasks, as a scrape of its metrics does.
	usageEvery = 15 * time.Second
	usageKept  = 240 // an hour
)

// count notes what is used, now and then, until ctx ends. Every master does,
// so that the last hour outlives a leader; one that does not lead sees no offers.
func (a *api) count(ctx context.Context) {
	tick, held := time.NewTicker(usageEvery), time.NewTimer(heldEvery)
	defer tick.Stop()
	defer held.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.sample(ctx, time.Now().UTC())
		case <-held.C:
			held.Reset(a.tellHeld(ctx))
		}
	}
}

// sample takes one note, and tells it to those readers of events who want it.
func (a *api) sample(ctx context.Context, now time.Time) {
	p, err := a.loop.picture(ctx)
	leads := err == nil
	if !leads {
		p = a.glance()
	}
	s := a.statusOf(p)
	a.feed.note(shown.Sample{Time: now, Total: s.Total, Used: s.Used, Offered: s.Offered})
	if !leads {
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		a.logger.Error("the status can't be written", "error", err)
		return
	}
	a.feed.announce(slices.Concat([]byte("event: status\ndata: "), text, []byte("\n\n")))
}

// usage has the samples of the last hour, the eldest first.
func (a *api) usage(*http.Request, *picture) (any, error) {
	return shown.Usage{Every: offers.Duration(usageEvery), Samples: a.feed.notes()}, nil
}
