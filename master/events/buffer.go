package events

import (
	"sort"
	"sync"
)

// Buffer holds the newest events in the order in which they came. Its readers
// have a place in it each, so a slow one costs nobody anything: what it did
// not read in time is left out for it.
//
//	kept: first ─────────────── shown ───────── next
//	      what readers may have │ durable ones that the leader has not acted on
//
// A leader shows an event only once whoever asks it for its state finds the
// change in there; otherwise a client could miss it in both. Not safe for
// concurrent use; an [Entry] is.
type Buffer struct {
	kept  []*Entry // place p is at p modulo its length
	size  int
	first uint64 // place of the oldest kept
	shown uint64 // first place that readers don't see yet
	next  uint64 // place of the next one

	epoch uint32
	floor ID     // of the newest that is not kept any more, or never was
	limit uint64 // the command up to which durable events are shown
	last  ID     // of the newest durable event, shown or not
	run   string // the leadership whose soft events come
	soft  uint64 // their number
}

// All shows what is kept without waiting for a leader.
const All = ^uint64(0)

// Entry is an event that is kept. It never changes.
type Entry struct {
	*Event
	once  sync.Once
	frame []byte
}

// Frame returns the event as [Event.Frame] does, which it calls once.
func (e *Entry) Frame() []byte {
	e.once.Do(func() { e.frame = e.Event.Frame() })
	return e.frame
}

// NewBuffer returns a buffer of that many events, with none in it.
func NewBuffer(size int) *Buffer { return &Buffer{size: size, limit: All} }

// Reset forgets everything: what follows continues a state of that epoch with
// so many commands applied, of which nothing is known. Places go on.
func (b *Buffer) Reset(epoch uint32, applied uint64) {
	clear(b.kept)
	b.first, b.shown = b.next, b.next
	b.epoch = epoch
	b.floor = ID{Epoch: epoch, Command: applied, N: ^uint32(0)}
	b.last = b.floor
}

// enter begins the epoch where it is not the present one, with everything of
// it known.
func (b *Buffer) enter(epoch uint32) {
	if epoch != b.epoch {
		b.Reset(epoch, 0)
		b.floor.N, b.last.N = 0, 0
	}
}

// Append adds durable events, in their order. The list is the buffer's from
// then on.
func (b *Buffer) Append(list []Event) {
	if len(list) == 0 {
		return
	}
	b.enter(list[0].ID.Epoch)
	entries := make([]Entry, len(list))
	for i := range list {
		entries[i].Event = &list[i]
		b.push(&entries[i])
	}
	b.last = list[len(list)-1].ID
	b.reveal()
}

// Lead begins a leadership, named by its term and its number therein (7-1), over
// a state of that epoch with so many commands applied: soft events are counted
// anew, and durable ones shown up to there and then as Show says.
func (b *Buffer) Lead(run string, epoch uint32, applied uint64) {
	b.enter(epoch)
	b.run, b.soft = run, 0
	b.Show(applied)
}

// Tell adds soft events and names them. The list is the buffer's from then on.
func (b *Buffer) Tell(list []Event) {
	if len(list) == 0 {
		return
	}
	entries := make([]Entry, len(list))
	for i := range list {
		b.soft++
		list[i].ID = b.last
		list[i].ID.Run, list[i].ID.Soft = b.run, b.soft
		entries[i].Event = &list[i]
		b.push(&entries[i])
	}
	b.reveal()
}

// Show lets readers see the durable events up to the command applied, and the
// soft ones between them.
func (b *Buffer) Show(applied uint64) {
	b.limit = applied
	b.reveal()
}

func (b *Buffer) push(e *Entry) {
	if b.next-b.first == uint64(b.size) { // its place is the oldest's
		b.floor = b.at(b.first).ID
		b.first++
		b.shown = max(b.shown, b.first)
	}
	if at := b.next % uint64(b.size); at < uint64(len(b.kept)) {
		b.kept[at] = e
	} else {
		b.kept = append(b.kept, e)
	}
	b.next++
}

func (b *Buffer) reveal() {
	for b.shown < b.next {
		if e := b.at(b.shown); e.ID.Soft == 0 && e.ID.Command > b.limit {
			return
		}
		b.shown++
	}
}

func (b *Buffer) at(place uint64) *Entry { return b.kept[place%uint64(b.size)] }

// End returns the place after the newest that is shown, and its name.
func (b *Buffer) End() (uint64, ID) {
	if b.shown == b.first {
		return b.shown, b.floor
	}
	return b.shown, b.at(b.shown - 1).ID
}

// Last returns the name of the newest durable event, shown or not.
func (b *Buffer) Last() ID { return b.last }

// Oldest returns the place of the oldest event, and what comes before it.
func (b *Buffer) Oldest() (uint64, ID) { return b.first, b.floor }

// Seek returns the place after the event of that id. It fails when events
// after it are not kept any more, or it is of another history. What a later
// leadership saw is told once more rather than not at all; what an earlier one
// saw came before it.
func (b *Buffer) Seek(id ID) (place uint64, ok bool) {
	if id.Epoch != b.epoch {
		return 0, false
	}
	ok = b.knows(id)
	n := int(b.shown - b.first)
	i := sort.Search(n, func(i int) bool { return b.at(b.first+uint64(i)).ID.durable(id) >= 0 })
	place = b.first + uint64(i)
	for p := place; p < b.shown; p++ {
		e := b.at(p).ID
		if e.durable(id) != 0 {
			break
		}
		if !e.after(id) {
			place, ok = p+1, ok || e == id
		}
	}
	return place, ok
}

// knows reports whether everything after an event of that id is kept, as far
// as can be told from what is not kept any more.
func (b *Buffer) knows(id ID) bool {
	if c := id.durable(b.floor); c != 0 {
		return c > 0
	}
	return !b.floor.after(id)
}

// Ahead reports whether an event of that id has not come here yet.
func (b *Buffer) Ahead(id ID) bool { return id.Epoch == b.epoch && id.durable(b.last) > 0 }

// Read copies shown events from a place on into list, and returns how many,
// and how many before them were left out because they are not kept any more.
func (b *Buffer) Read(place uint64, list []*Entry) (n int, lost uint64) {
	if place < b.first {
		lost, place = b.first-place, b.first
	}
	for n < len(list) && place < b.shown {
		list[n] = b.at(place)
		n, place = n+1, place+1
	}
	return n, lost
}
