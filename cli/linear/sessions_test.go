package linear_test

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestSessions(t *testing.T) {
	bad := []string{"sessions"}
	enter := func(conn int, call, ret int64) *linear.Op {
		return with(done(conn, linear.Register, call, ret), func(o *linear.Op) { o.Timeout = 10 * second })
	}
	refuse := func(conn int, call, ret int64) *linear.Op {
		return with(refused(conn, linear.Register, call, ret, offers.FrameworkRemoved), func(o *linear.Op) { o.Timeout = 10 * second })
	}
	act := func(conn int, call, ret int64) *linear.Op { return done(conn, linear.List, call, ret) }
	closed := func(conn int, at int64) *linear.Op { return done(conn, linear.Closed, at, at) }
	const s = second
	try(t, ops(
		good("one instance", enter(1, 0, 1), act(1, 2, 3), act(1, 4, 5)),
		good("a take-over", enter(1, 0, 1), act(1, 2, 3), enter(2, 4, 5), act(2, 6, 7)),
		good("the last of the old beside the take-over", enter(1, 0, 1), act(1, 3, 8), enter(2, 4, 5), act(2, 6, 7)),
		breaks(bad, "a zombie acts", enter(1, 0, 1), enter(2, 4, 5), act(1, 6, 7)),
		breaks(bad, "a zombie among others", enter(1, 0, 1), act(1, 2, 3), enter(2, 4, 5), act(2, 6, 7), act(1, 8, 9), act(2, 10, 11)),
		breaks(bad, "a zombie is told that its offer is gone", enter(1, 0, 1), enter(2, 4, 5), refused(1, linear.Accept, 6, 7, offers.OfferGone)),
		good("a zombie is told so by a leader that was deposed", enter(1, 0, 1), with(enter(2, 4, 5), func(o *linear.Op) { o.Term++ }), refused(1, linear.Accept, 6, 7, offers.OfferGone)),
		good("a zombie without answer", enter(1, 0, 1), enter(2, 4, 5), unknown(1, linear.Put, 6)),
		good("the first takes it back", enter(1, 0, 1), enter(2, 4, 5), act(2, 6, 7), enter(3, 8, 9), act(3, 10, 11)),
		good("two at once, either wins", enter(1, 0, 5), enter(2, 0, 5), act(1, 6, 7)),
		breaks(bad, "two at once, both win", enter(1, 0, 5), enter(2, 0, 5), act(1, 6, 9), act(2, 6, 9)),
		breaks(bad, "nobody registered", act(1, 2, 3)),

		good("torn down", enter(1, 0, 1), done(1, linear.Teardown, 2, 3), refuse(2, 4, 5)),
		breaks(bad, "torn down and back", enter(1, 0, 1), done(1, linear.Teardown, 2, 3), enter(2, 4, 5)),
		breaks(bad, "torn down and acted upon", enter(1, 0, 1), done(1, linear.Teardown, 2, 3), act(1, 4, 5)),
		good("a teardown without answer, done", enter(1, 0, 1), unknown(1, linear.Teardown, 2), refuse(2, 4, 5)),
		good("a teardown without answer, not done", enter(1, 0, 1), unknown(1, linear.Teardown, 2), enter(2, 4, 5), act(2, 6, 7)),
		breaks(bad, "refused for nothing", enter(1, 0, 1), refuse(2, 4, 5)),

		good("refused after the failover timeout", enter(1, 0, 1), act(1, 2, 3), refuse(2, 11*s, 11*s+1)),
		breaks(bad, "refused before the failover timeout", enter(1, 0, 1), act(1, 2*s, 3*s), refuse(2, 11*s, 12*s-1)),
		breaks(bad, "refused and back", enter(1, 0, 1), refuse(2, 11*s, 12*s), enter(3, 13*s, 14*s)),
		good("back in time", enter(1, 0, 1), closed(1, 2), enter(2, 60*s, 61*s)),
		breaks(bad, "back long after the failover timeout", enter(1, 0, 1), closed(1, 2), enter(2, 80*s, 81*s)),
		good("back after long, but it had never left", enter(1, 0, 1), enter(2, 80*s, 81*s)),
		good("back after long, another connection held it", enter(1, 0, 1), closed(1, 2), unknownRegister(2, 20*s), closed(2, 70*s), enter(3, 80*s, 81*s)),
	))
}

func unknownRegister(conn int, call int64) *linear.Op { return unknown(conn, linear.Register, call) }
