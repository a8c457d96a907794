package master

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// leader returns whom connections go to. During an election it waits for its
// end, and at a new leader until that has begun, but no longer than until.
func (a *api) leader(ctx context.Context, until time.Time) (replica.Member, bool) {
	limit := time.NewTimer(time.Until(until))
	defer limit.Stop()
	for {
		changed, begun := a.replica.LeaderChanged(), a.loop.begun()
		leader, ok := a.replica.Leader()
		if ok && (leader.ID != a.replica.Self().ID || closed(begun)) {
			return leader, true
		}
		if !ok {
			begun = nil // that is of a leadership that is over
		}
		select {
		case <-begun:
		case <-changed:
		case <-limit.C:
			return replica.Member{}, false
		case <-ctx.Done():
			return replica.Member{}, false
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// visitor is who connected.
type visitor struct {
	principal door.Principal
	number    uint64 // of the session, in the order in which they were let in
}

// turn waits for its turn and then for the leader, as leader does. Few at a time
// wait there and the others behind them, so that they are not all ready to run once
// there is a leader. Who has heard of it makes room for the next one at once: the
// answer to the upgrade may have to wait for its reader.
func (a *api) turn(ctx context.Context) (replica.Member, error) {
	until := time.Now().Add(a.hold)
	if !a.entrance.enterOr(ctx.Done()) {
		return replica.Member{}, errNoLeader()
	}
	defer a.entrance.leave()
	leader, ok := a.leader(ctx, until)
	if !ok {
		return replica.Member{}, errNoLeader()
	}
	return leader, nil
}

// upgrade is the way into a session. It has a goroutine of its own, for which
// whoever stops the API waits (sessions): the request's would keep the request and
// its buffers in memory.
func (a *api) upgrade(protocol string, options wire.Options, serve func(wire.Link, visitor)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		link, v, err := a.open(w, r, protocol, options)
		if link == nil {
			return err
		}
		go func() {
			defer a.sessions.Done()
			serve(link, v)
		}()
		return nil
	}
}

// What connections may have in memory beside what each has for itself, and what
// waits for the loop. What does not fit closes those that have most waiting to be
// sent, as if they were too slow, and leaves large frames with who sends them.
const (
	unsentSize  = 512 << 20 // bytes that wait to be sent, to frameworks and agents
	largeFrames = 64        // that are received, of either, of up to [wire.MaxMessage]
)

// bounded returns the options of the connections of a protocol, which have these
// bounds together.
func (a *api) bounded(options wire.Options) wire.Options {
	options.Unsent, options.Large = a.unsent, make(wire.Places, largeFrames)
	return options
}

// open turns a request into the connection of a session, which is counted. Only
// the leader lets it happen; the loop fences what comes in after leadership is
// lost. It tells its term, by which a framework that looks for another leader knows
// it under any address. Without a connection an error, or what has been answered, says why.
func (a *api) open(w http.ResponseWriter, r *http.Request, protocol string, options wire.Options) (wire.Link, visitor, error) {
	leader, err := a.turn(r.Context())
	if err != nil {
		return nil, visitor{}, err
	}
	if leader.ID != a.replica.Self().ID {
		return nil, visitor{}, a.elsewhere(w, r, errNotLeader())
	}
	if err := wantUpgrade(w, r, protocol); err != nil {
		return nil, visitor{}, err
	}
	// A client says nothing before it has the answer: whatever one session
	// said before another one began, its number is the smaller one, however
	// late that is read. Of the connection below, which may have been open for
	// long, that is not true.
	a.sessions.Add(1)
	number := a.taken.Add(1)
	options.Term = a.replica.Term()
	link, err := wire.Upgrade(w, r, protocol, options)
	if err != nil {
		a.sessions.Done()
		a.logger.Debug("a connection was not upgraded", "from", r.RemoteAddr, "error", err)
		return nil, visitor{}, nil // it has been answered
	}
	return link, visitor{a.door.Who(r), number}, nil
}

// wantUpgrade refuses a request that does not ask for a websocket.
func wantUpgrade(w http.ResponseWriter, r *http.Request, protocol string) error {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	w.Header().Set("Upgrade", "websocket")
	return &statusError{http.StatusUpgradeRequired, offers.Errorf(offers.BadMessage, "%s is a websocket of subprotocol %s", r.URL.Path, protocol)}
}
