package master

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/ringmaster-project/ringmaster/master/lead"
)

// What sessions have read and the loop has not come to takes no more than
// intakeSize bytes in each intake, as it came; read it takes several times that.
// A frame counts for intakeLeast at least, so that an inbox of small ones holds
// inboxSize.
const (
	intakeSize  = 16 << 20
	intakeLeast = intakeSize / inboxSize
	// ownSize is what one session may have in it, of frames that count for ownLeast
	// at least, or a single larger one: so a few that say much, and what takes long,
	// are not ahead of all others.
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
// have much to say and those that have little come in turns. Safe for concurrent
// use.
type intake struct {
	inputs chan func(*lead.Core) // run by the loop, with nil where this master does not lead
	room   *semaphore.Weighted
	over   context.Context // ended when the loop has
}

func newIntake(over context.Context) *intake {
	return &intake{make(chan func(*lead.Core), inboxSize), semaphore.NewWeighted(intakeSize), over}
}

// newOwn returns the room of one session.
func newOwn() *semaphore.Weighted { return semaphore.NewWeighted(ownSize) }

// take waits for room for a frame, that of its session's own first, and returns
// what gives it back. It reports false when the loop has ended.
func (i *intake) take(own *semaphore.Weighted, frame []byte) (give func(), ok bool) {
	size := int64(len(frame))
	n, part := min(max(size, intakeLeast), intakeSize), min(max(size, ownLeast), ownSize)
	if own.Acquire(i.over, part) != nil || i.room.Acquire(i.over, n) != nil {
		return nil, false
	}
	return func() { i.room.Release(n); own.Release(part) }, true
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
