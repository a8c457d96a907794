package state

import (
	"errors"
	"fmt"

	"github.com/ringmaster-project/ringmaster/offers"
)

// How tasks follow each other in a snapshot since format 2, those of which little that
// is seldom is said: as launches, and behind each what became of it.
//
//	{ launch  0 | 1 status number | 2 status number } ...
//
// 1 is behind one that ended, 2 behind one of which that was acknowledged, too. Each
// record of them begins anew: nothing in it is as it was in the one before.
const (
	taskLives = iota
	taskEnded
	taskAcknowledged
)

// Bounds of one record of tasks; the last of them may pass mostBytes.
const (
	mostTasks = 256
	mostBytes = 64 << 10
)

// plain reports whether writeTask writes all that is said of a task.
func plain(t *TaskRecord) bool {
	s := &t.Spec
	return s.Container == nil && s.Artifacts == nil && s.Health == nil && s.Resources.AnyPorts == 0 &&
		t.Kill == nil && !t.Restored && !t.Doubtful && (t.End == nil) == (t.Ended == 0) && !(t.End == nil && t.Acknowledged)
}

func (w *compactWriter) task(t *TaskRecord) {
	w.launch(t)
	switch {
	case t.End == nil:
		w.byte(taskLives)
		return
	case t.Acknowledged:
		w.byte(taskAcknowledged)
	default:
		w.byte(taskEnded)
	}
	w.status(t.End)
	w.uvarint(t.Ended)
}

func (r *compactReader) task(t *TaskRecord) {
	r.launch(t)
	switch how := r.byte(); how {
	case taskLives:
		return
	case taskEnded, taskAcknowledged:
		t.Acknowledged = how == taskAcknowledged
	default:
		r.fail(fmt.Errorf("what became of task %.60s is written as %d", t.Spec.ID, how))
		return
	}
	t.End = new(offers.Status)
	r.status(t.End)
	if t.Ended = r.uvarint(); t.Ended == 0 {
		r.fail(fmt.Errorf("the end of task %.60s has no number", t.Spec.ID))
	}
}

// errTime is of a snapshot that nobody could write again.
var errTime = errors.New("a time is outside the years 0 to 9999")

// readTasks calls take with each task of a record. It may change what it is given.
func readTasks(in []byte, take func(*TaskRecord) error) error {
	r := compactReader{rest: in}
	var records [2]TaskRecord // one is like the other
	for n := 0; len(r.rest) > 0; n++ {
		t := &records[n%2]
		*t = TaskRecord{}
		if r.task(t); r.err != nil {
			return fmt.Errorf("task %d of it: %w", n, r.err)
		}
		if !writable(&t.Created) || t.End != nil && !(writable(&t.End.Started) && writable(&t.End.Time)) {
			return fmt.Errorf("task %d of it: %w", n, errTime)
		}
		if err := take(t); err != nil {
			return err
		}
	}
	return nil
}
