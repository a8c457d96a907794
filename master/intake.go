package master

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// What sessions have read and the loop has not come to takes no more than
// intakeSize bytes, as it came; read it takes several times that. A frame counts
// for intakeLeast at least, so that an inbox of small ones holds inboxSize.
const (
	intakeSize  = 32 << 20
	intakeLeast = intakeSize / inboxSize
)

// intake is the room that frames take from when they are received until the loop
// has handled them. A session that finds none waits, and so does its peer, behind
// all that came before it: since each waits with one frame at most, those that
// have much to say and those that have little come in turns. Safe for concurrent
// use.
type intake struct {
	room *semaphore.Weighted
	over context.Context // ended when the loop has
}

func newIntake(over context.Context) intake {
	return intake{semaphore.NewWeighted(intakeSize), over}
}

// take waits for room for a frame and returns what gives it back. It reports
// false when the loop has ended.
func (i intake) take(frame []byte) (give func(), ok bool) {
	n := min(max(int64(len(frame)), intakeLeast), intakeSize)
	if i.room.Acquire(i.over, n) != nil {
		return nil, false
	}
	return func() { i.room.Release(n) }, true
}
