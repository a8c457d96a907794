package master

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// leader returns whom connections go to. During an election it waits for its
// end, and at a new leader until that has begun.
func (a *api) leader(ctx context.Context) (replica.Member, bool) {
	limit := time.NewTimer(a.hold)
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
	number    uint64 // of the connection, in the order in which they came
}

// arrival is one connection of the HTTP server.
type arrival struct {
	taken  *atomic.Uint64 // connections, and upgrades of used ones, so far
	number uint64         // of this one
	asked  atomic.Int64   // requests on it
}

type arrivalKey struct{}

// numbered gives the context of each connection its arrival. A server calls it
// for one after the other, in the order in which the kernel took them; what
// comes on them is read side by side.
func numbered() func(context.Context, net.Conn) context.Context {
	var taken atomic.Uint64
	return func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, arrivalKey{}, &arrival{taken: &taken, number: taken.Add(1)})
	}
}

// asks counts a request on its connection.
func asks(r *http.Request) {
	if a, ok := r.Context().Value(arrivalKey{}).(*arrival); ok {
		a.asked.Add(1)
	}
}

// numberOf returns the number of a connection that is upgraded by the request.
// One that served others before is as new as this request; 0 is not counted.
func numberOf(r *http.Request) uint64 {
	a, ok := r.Context().Value(arrivalKey{}).(*arrival)
	switch {
	case !ok:
		return 0
	case a.asked.Load() > 1:
		return a.taken.Add(1)
	}
	return a.number
}

// upgrade is the way into a session. Only the leader lets it happen; the loop
// fences what comes in after leadership is lost. The session is served by the
// request's goroutine.
func (a *api) upgrade(protocol string, options wire.Options, serve func(wire.Link, visitor)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		leader, ok := a.leader(r.Context())
		if !ok {
			return errNoLeader()
		}
		if leader.ID != a.replica.Self().ID {
			return a.elsewhere(w, r, errNotLeader())
		}
		if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			w.Header().Set("Upgrade", "websocket")
			return &statusError{http.StatusUpgradeRequired, offers.Errorf(offers.BadMessage, "%s is a websocket of subprotocol %s", r.URL.Path, protocol)}
		}
		a.sessions.Add(1)
		defer a.sessions.Done()
		number := numberOf(r)
		link, err := wire.Upgrade(w, r, protocol, options)
		if err != nil {
			a.logger.Debug("a connection was not upgraded", "from", r.RemoteAddr, "error", err)
			return nil // it has been answered
		}
		serve(link, visitor{a.door.Who(r), number})
		return nil
	}
}
