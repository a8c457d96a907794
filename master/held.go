package master

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
)

// heldEvery is how often readers who want the status are told what outstanding
// offers hold, where that changed: a millisecond more for each agent, so that a
// cluster that is offered as a whole does not fill their connections.
const heldEvery = time.Second

// tellHeld tells what offers hold, and returns when to look again. Offers come
// and go without an event, too fast for all of them to be told.
func (a *api) tellHeld(ctx context.Context) time.Duration {
	if readers, _, _ := a.feed.counts(); readers == 0 {
		return heldEvery
	}
	held, err := a.loop.held(ctx)
	if err != nil {
		return heldEvery // it does not lead
	}
	list := make([]shown.HeldSpace, 0, len(held))
	for _, id := range slices.Sorted(maps.Keys(held)) {
		list = append(list, shown.HeldSpace{ID: id, Room: events.Room(held[id].Amounts), Devices: held[id].Devices.Map()})
	}
	text, err := json.Marshal(shown.Held{Agents: list})
	if err != nil {
		a.logger.Error("what offers hold can't be written", "error", err)
		return heldEvery
	}
	a.feed.hold(slices.Concat([]byte("event: held\ndata: "), text, []byte("\n\n")))
	return heldEvery + time.Duration(len(list))*time.Millisecond
}

// hold gives a block to all readers that want the status, unless it is the one
// that they have.
func (f *feed) hold(block []byte) {
	f.mu.Lock()
	same := bytes.Equal(block, f.held)
	f.mu.Unlock()
	if !same {
		f.change(func(*events.Buffer) { f.held, f.heldTold = block, f.heldTold+1 })
	}
}
