package master

import (
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Bounds of what a follower may say. It answers what it is asked, so one that
// passes them breaks the rules.
const (
	answerBytes  = 64 << 10 // in one answer
	answerNumber = 1024     // answers that the loop has not looked at
)

// follower is another master's connection, over which it pre-matches for this
// one. Its reading goroutine puts answers where the matcher finds them, in the
// middle of a turn too.
type follower struct {
	loop    *loop
	link    wire.Link
	answers chan []byte
	called  atomic.Bool // the loop will look
}

var _ match.Follower = (*follower)(nil)

// Send implements [match.Follower]. A link that can't take the frame is closed by
// itself, and its reader then ends the session.
func (f *follower) Send(frame []byte) { _ = f.link.Send(frame) }

// Receive implements [match.Follower].
func (f *follower) Receive() []byte {
	select {
	case answer := <-f.answers:
		return answer
	default:
		return nil
	}
}

// End implements [match.Follower].
func (f *follower) End(reason string) { f.link.End(reason) }

// serveFollower serves one follower's connection until it ends.
func (l *loop) serveFollower(link wire.Link, _ visitor) {
	here := l.meters.sessions.WithLabelValues(followerSession)
	here.Inc()
	defer here.Dec()
	f := &follower{loop: l, link: link, answers: make(chan []byte, answerNumber)}
	l.inbox.enter(func(core *lead.Core) {
		if core == nil {
			f.End("this master leads no more")
			return
		}
		core.FollowerJoined(f)
	})
	for f.read() {
	}
	l.inbox.enter(func(core *lead.Core) {
		if core != nil {
			core.FollowerLeft(f)
		}
	})
	link.Close("the connection ended")
}

// read takes one answer and sees to it that the loop looks soon, since there may
// be more to tell the follower. It reports false when the connection has ended.
func (f *follower) read() bool {
	answer, err := f.link.Receive()
	if err != nil {
		return false
	}
	select {
	case f.answers <- answer:
	default:
		f.End("more answers than questions")
		return false
	}
	if f.called.CompareAndSwap(false, true) {
		return f.loop.inbox.enter(func(*lead.Core) { f.called.Store(false) })
	}
	return true
}

// prematch lets a follower in that reads agents as this master does. One of
// another build may rate them otherwise, and what is offered would depend on
// which of its lists came in time.
func (a *api) prematch(w http.ResponseWriter, r *http.Request) error {
	if theirs, ours := r.URL.Query().Get("build"), build(a.version); theirs != ours {
		return &statusError{http.StatusConflict, offers.Errorf(offers.Forbidden, "the master is of the build %.100q and this one of %q: only masters of one build pre-match for each other", theirs, ours)}
	}
	return a.upgrade(wire.PrematchProtocol, wire.Options{Message: answerBytes, Silence: longestSilence, Binary: true}, a.follower)(w, r)
}

// build names what a master is built from as exactly as is known.
func build(version string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			version += " " + s.Value
		}
	}
	return version
}
