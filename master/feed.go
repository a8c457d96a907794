package master

import (
	"fmt"
	"slices"
	"sync"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	eventsKept = 1 << 16
	maxReaders = 1024 // of events, at one master
)

// feed is what changed of late, for those who read GET /v1/events. Raft's
// goroutine and the loop write to it and wait for nobody but each other, for
// as long as an append takes; the readers' own goroutines take from it at
// their pace.
type feed struct {
	mu       sync.Mutex
	buffer   *events.Buffer
	news     chan struct{} // closed when there is something new; nil while nobody waits
	over     chan struct{} // closed when this master leads no more; nil while it does not lead
	readers  int
	matching int    // readers that want to know what the matching does
	gaps     uint64 // told to readers
	dropped  uint64 // events that readers missed because they were too slow

	now       *state.State // with all durable events in it and nothing else; nil before the first
	samples   []shown.Sample
	status    []byte // the block of the newest status, for those who want it
	announced uint64 // how many there were
	held      []byte // the block of what offers hold, for the same; nil before the first of a leadership
	heldTold  uint64 // how many there were
}

var _ replica.Watcher = (*feed)(nil)

func newFeed() *feed { return &feed{buffer: events.NewBuffer(eventsKept)} }

// change runs a change of the buffer and wakes who waits for one.
func (f *feed) change(do func(*events.Buffer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.buffer)
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// Applied implements [replica.Watcher].
func (f *feed) Applied(before, after *state.State, batch []state.Command, results []state.Result) {
	list := events.Derive(before, after, batch, results)
	if len(list) == 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now = after
		return
	}
	f.change(func(b *events.Buffer) {
		f.now = after
		b.Append(list)
	})
}

// Loaded implements [replica.Watcher].
func (f *feed) Loaded(now *state.State) {
	f.change(func(b *events.Buffer) {
		f.now = now
		b.Reset(events.EpochOf(now), now.Applied())
	})
}

// Restored implements [replica.Watcher].
func (f *feed) Restored(now *state.State, at time.Time) {
	f.change(func(b *events.Buffer) {
		f.now = now
		b.Append([]events.Event{events.ReplacedBy(now, at)})
	})
}

// lead begins a leadership from a state, the n-th in its term.
func (f *feed) lead(m wire.MasterInfo, n uint64, s *state.State, now time.Time) {
	f.change(func(b *events.Buffer) {
		b.Lead(fmt.Sprintf("%d-%d", m.Term, n), events.EpochOf(s), s.Applied())
		b.Tell([]events.Event{{Type: events.LeaderElected, Time: now.UTC(), Name: m.Name, Address: m.Address, Term: m.Term}})
		f.over = make(chan struct{})
	})
}

// tell adds what is not replicated.
func (f *feed) tell(list []events.Event) {
	if len(list) > 0 {
		f.change(func(b *events.Buffer) { b.Tell(list) })
	}
}

// show lets readers see what the leader has acted on: all that led to s.
func (f *feed) show(s *state.State) {
	f.change(func(b *events.Buffer) { b.Show(s.Applied()) })
}

// cease ends a leadership, and with it the streams that want a leader's.
func (f *feed) cease() {
	f.change(func(b *events.Buffer) {
		b.Show(events.All)
		if f.over != nil {
			close(f.over)
			f.over, f.held = nil, nil
		}
	})
}

// standing returns the replicated state, nil where this master has none yet,
// and the event after which to go on from it.
func (f *feed) standing() (*state.State, events.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.buffer.Last()
}

// note keeps a sample of what is used, in the place of the eldest where there
// are enough.
func (f *feed) note(s shown.Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.samples) == usageKept {
		f.samples = slices.Delete(f.samples, 0, 1)
	}
	f.samples = append(f.samples, s)
}

// notes returns what note has kept.
func (f *feed) notes() []shown.Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]shown.Sample{}, f.samples...)
}

// announce gives a block to all readers that want the status, who get the
// newest one only.
func (f *feed) announce(block []byte) {
	f.change(func(*events.Buffer) { f.status, f.announced = block, f.announced+1 })
}

// timeline returns what is kept of one task, the eldest first. It looks
// through all there is, and holds up nobody meanwhile.
func (f *feed) timeline(ref offers.TaskRef) (out []*events.Entry) {
	list := make([]*events.Entry, eventBatch)
	f.mu.Lock()
	place, _ := f.buffer.Oldest()
	f.mu.Unlock()
	for {
		f.mu.Lock()
		n, lost := f.buffer.Read(place, list)
		f.mu.Unlock()
		if n == 0 {
			return out
		}
		for _, e := range list[:n] {
			if e.Task == ref.Task && e.Framework == ref.Framework {
				out = append(out, e)
			}
		}
		place += lost + uint64(n)
	}
}

// counts returns how many readers there are, the gaps that readers were told
// of, and the events that were too many for them.
func (f *feed) counts() (readers int, gaps, dropped uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers, f.gaps, f.dropped
}

// feedReader is one reader's place in a feed. Its goroutine owns it.
type feedReader struct {
	matching bool // it is counted as one that wants to know that
	feed     *feed
	over     <-chan struct{} // closed when it is to connect anew; nil: never
	place    uint64
	at       events.ID // of the place
	known    events.ID // durable events up to here it has had elsewhere
	gap      bool      // what it wants to go on from is not kept

	announced uint64 // of the statuses, the last that it had
	heldTold  uint64 // of what offers hold, the last that it had; 0: none yet
}

// enter begins to read after the event of that id, or where from is nil with
// what comes next; from the oldest where that is asked for. stale readers take
// what any master has, the others a leader's; not_leader is the error for them.
func (f *feed) enter(from *events.ID, oldest, stale bool) (*feedReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over == nil && !stale {
		return nil, errNotLeader()
	}
	if f.readers == maxReaders {
		return nil, offers.Errorf(offers.RateLimited, "this master has %d readers of events, the most there can be", maxReaders)
	}
	f.readers++
	r := &feedReader{feed: f, announced: f.announced}
	if !stale {
		r.over = f.over
	}
	r.place, r.at = f.buffer.End()
	switch {
	case oldest:
		r.place, r.at = f.buffer.Oldest()
	case from == nil:
	case f.buffer.Ahead(*from) && stale:
		r.at, r.known = *from, *from // this master has yet to come there
	case f.buffer.Ahead(*from):
		r.gap = true
	default:
		place, ok := f.buffer.Seek(*from)
		if r.gap = !ok; ok {
			r.place, r.at, r.known = place, *from, *from
		}
	}
	if r.gap {
		f.gaps++
	}
	return r, nil
}

// leave ends the reading.
func (r *feedReader) leave() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.feed.readers--
	if r.matching {
		r.feed.matching--
	}
}

// wantMatching says that the reader wants to know what the matching does.
func (r *feedReader) wantMatching() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.matching = true
	r.feed.matching++
}

// matchingWanted reports whether anybody wants to know what the matching does.
func (f *feed) matchingWanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.matching > 0
}

// fresh returns the newest status and what offers hold, without what the reader
// has had.
func (r *feedReader) fresh() []byte {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	var out []byte
	if r.announced != r.feed.announced {
		r.announced = r.feed.announced
		out = r.feed.status
	}
	if r.heldTold != r.feed.heldTold {
		r.heldTold = r.feed.heldTold
		out = slices.Concat(out, r.feed.held)
	}
	return out
}

// take copies what comes next into list. Without anything it returns a
// channel that is closed when there is more. lost says how many events were
// left out because the reader was too slow; it then goes on with the newest.
func (r *feedReader) take(list []*events.Entry) (n int, lost uint64, news <-chan struct{}) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, lost = f.buffer.Read(r.place, list); lost > 0 {
		end, at := f.buffer.End()
		lost = end - r.place
		r.place, r.at = end, at
		f.gaps++
		f.dropped += lost
		return 0, lost, nil
	}
	if r.place += uint64(n); n > 0 {
		r.at = list[n-1].ID
		return n, 0, nil
	}
	if f.news == nil {
		f.news = make(chan struct{})
	}
	return 0, 0, f.news
}
