package linear_test

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

// offered is an offer o that came on a connection in term 1.
func offered(conn int, at int64) *linear.Op {
	return with(done(conn, linear.Offered, at, at), func(o *linear.Op) {
		o.Offers, o.Term, o.Expires = []offers.OfferID{"o"}, 1, 100*second
	})
}

func accept(o *linear.Op, task offers.TaskID) *linear.Op {
	return with(o, func(o *linear.Op) { o.Offers, o.Tasks = []offers.OfferID{"o"}, []offers.TaskID{task} })
}

// registered is a registration of framework "other", which says what term it is.
func registered(term uint64, call, ret int64) *linear.Op {
	return with(done(9, linear.Register, call, ret), func(o *linear.Op) { o.Framework, o.Term = "other", term })
}

func TestTokens(t *testing.T) {
	bad := []string{"tokens"}
	first := func() *linear.Op { return accept(done(1, linear.Accept, 2, 3), "t1") }
	ran := func(h history, tasks ...offers.TaskID) history {
		h.launched = tasks
		return h
	}
	rescinded := with(done(1, linear.Rescinded, 5, 5), func(o *linear.Op) { o.Offers = []offers.OfferID{"o"} })
	try(t, settled(ops(
		good("once", offered(1, 1), first()),
		breaks(bad, "twice", offered(1, 1), first(), accept(done(1, linear.Accept, 4, 5), "t2")),
		breaks(bad, "twice at once", offered(1, 1), first(), accept(done(1, linear.Accept, 2, 3), "t2")),
		good("once of two", offered(1, 1), first(), accept(refused(1, linear.Accept, 2, 4, offers.OfferGone), "t2")),
		ran(good("without answer, never done", offered(1, 1), first(), accept(unknown(1, linear.Accept, 4), "t2")), "t1"),
		ran(breaks(bad, "without answer, and done", offered(1, 1), first(), accept(unknown(1, linear.Accept, 4), "t2")), "t1", "t2"),
		ran(good("the one without answer is the one", offered(1, 1), accept(unknown(1, linear.Accept, 2), "t1"), accept(refused(1, linear.Accept, 3, 4, offers.OfferGone), "t2")), "t1"),
		ran(breaks(bad, "refused and done", offered(1, 1), accept(refused(1, linear.Accept, 3, 4, offers.OfferGone), "t1")), "t1"),
		breaks(bad, "never made", first()),
		breaks(bad, "another framework's", offered(1, 1), with(accept(done(2, linear.Accept, 2, 3), "t1"), func(o *linear.Op) { o.Framework = "thief" })),

		good("beside its rescind", offered(1, 1), accept(done(1, linear.Accept, 4, 6), "t1"), rescinded),
		breaks(bad, "after its rescind", offered(1, 1), accept(done(1, linear.Accept, 6, 7), "t1"), rescinded),
		good("before it expires", offered(1, 1), accept(done(1, linear.Accept, 99*second, 120*second), "t1")),
		breaks(bad, "expired", offered(1, 1), accept(done(1, linear.Accept, 106*second, 107*second), "t1")),
		ran(breaks(bad, "expired, without answer, and done", offered(1, 1), accept(unknown(1, linear.Accept, 106*second), "t1")), "t1"),

		good("a term begins meanwhile", offered(1, 1), accept(done(1, linear.Accept, 4, 9), "t1"), registered(2, 5, 6)),
		breaks(bad, "of a term that is over", offered(1, 1), registered(2, 3, 4), accept(done(1, linear.Accept, 5, 6), "t1")),
		good("the same term", offered(1, 1), registered(1, 3, 4), accept(done(1, linear.Accept, 5, 6), "t1")),
		breaks([]string{"tokens", "sessions"}, "by a connection that was fenced", offered(1, 1), done(2, linear.Register, 3, 4), accept(done(1, linear.Accept, 5, 6), "t1")),
		breaks(bad, "on a connection that came after", done(1, linear.Register, 0, 0), offered(1, 1), done(2, linear.Register, 3, 4), accept(done(2, linear.Accept, 5, 6), "t1")),
	)))
}
