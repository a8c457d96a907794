package master

import (
	"context"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
)

// ask runs query in the loop and waits for its answer or for ctx. The error is
// not_leader where this master does not lead.
func ask[T any](ctx context.Context, l *loop, query func(*lead.Core, func(T, error))) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	answers := make(chan answer, 1)
	in := func(core *lead.Core) {
		if core == nil {
			answers <- answer{none, errNotLeader()}
			return
		}
		l.questions++
		id := l.questions
		answered := false
		query(core, func(v T, err error) {
			answered = true
			delete(l.unanswered, id)
			answers <- answer{v, err}
		})
		if !answered {
			l.unanswered[id] = func() {
				answers <- answer{none, offers.Errorf(offers.Unavailable, "this master stopped leading")}
			}
		}
	}
	select {
	case l.inbox.inputs <- in:
	case <-l.stopped:
		return none, offers.Errorf(offers.Unavailable, "this master stops")
	case <-ctx.Done():
		return none, offers.Errorf(offers.Unavailable, "the request was given up")
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-l.stopped:
		return none, offers.Errorf(offers.Unavailable, "this master stops")
	case <-ctx.Done():
		return none, offers.Errorf(offers.Unavailable, "the request was given up")
	}
}

func errNotLeader() error {
	return offers.Errorf(offers.NotLeader, "this master does not lead")
}
