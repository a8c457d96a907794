package master

import (
	"bytes"
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// What sessions have read and the loop has not come to weighs no more than
// intakeSize in each intake, but for large frames, see [intake].
// A frame counts for intakeLeast at least, so that an inbox of small ones holds
// inboxSize.
const (
	intakeSize  = 16 << 20
	intakeLeast = intakeSize / inboxSize
	// largeFrame is what a frame that is not large weighs at most. Those that many
	// small messages share are not large.
	largeFrame = 32 << 10
	// ownSize is what one session may have in it, of frames that count for ownLeast
	// at least: so a few that say much are not ahead of all others.
	ownSize  = 128 << 10
	ownLeast = 256
)

// intake is how inputs come to the loop. There is one for frameworks and one for
// the rest, from which the loop takes alike: an update of each of many agents'
// tasks is to be acknowledged by one of few frameworks, which would have to wait
// behind all of the agents otherwise, and the updates in memory with it.
//
// In each of them a session takes room for a frame when it has received it, until
// the loop has handled it. One that finds none waits, and so does its peer, behind
// all that came before it: since each waits with one frame at most, those that
// have much to say and those that have little come in turns.
//
// Large frames have a line of their own. One of them can take as long to decode and
// to handle as all that thousands of others say, so few are under way at a time, and
// while these are decoded a processor is left to the others and to the loop. Those
// that wait in this line are few, too: see [largeFrames]. Safe for concurrent use.
type intake struct {
	inputs chan func(*lead.Core) // run by the loop, with nil where this master does not lead
	room   *semaphore.Weighted   // of what is not large
	large  *semaphore.Weighted   // places
	over   context.Context       // ended when the loop has
}

func newIntake(over context.Context) *intake {
	return &intake{
		inputs: make(chan func(*lead.Core), inboxSize),
		room:   semaphore.NewWeighted(intakeSize),
		large:  semaphore.NewWeighted(largeAtOnce()),
		over:   over,
	}
}

// largeAtOnce is how many large frames of an intake are under way.
func largeAtOnce() int64 { return int64(max(runtime.GOMAXPROCS(0)-1, 1)) }

// newOwn returns the room of one session.
func newOwn() *semaphore.Weighted { return semaphore.NewWeighted(ownSize) }

// take waits for room for a frame, that of its session's own first, and returns
// what gives it back. It reports false when the loop has ended.
func (i *intake) take(own *semaphore.Weighted, weight int64) (give func(), ok bool) {
	if weight > largeFrame {
		if i.large.Acquire(i.over, 1) != nil {
			return nil, false
		}
		return func() { i.large.Release(1) }, true
	}
	n, part := max(weight, intakeLeast), max(weight, ownLeast)
	if own.Acquire(i.over, part) != nil || i.room.Acquire(i.over, n) != nil {
		return nil, false
	}
	return func() { i.room.Release(n); own.Release(part) }, true
}

// weightOf is about what a frame takes when it is read: in JSON a few characters
// can stand for a struct, and a comma ends each.
func weightOf(form wire.Form, frame []byte) int64 {
	size := int64(len(frame))
	if form == wire.JSON {
		const each = 64
		size = max(size, each*int64(bytes.Count(frame, []byte{','})))
	}
	return size
}

// enter hands an input to the loop and waits for its place; false when the loop
// has ended.
func (i *intake) enter(in func(*lead.Core)) bool {
	select {
	case i.inputs <- in:
		return true
	case <-i.over.Done():
		return false
	}
}
