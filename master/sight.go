package master

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

func errNoLeader() error {
	return offers.Errorf(offers.Unavailable, "no master leads at the moment; ask again")
}

// sight returns a consistent picture: a majority confirmed that this master
// leads after the request came in.
func (a *api) sight(ctx context.Context) (*picture, error) {
	if err := a.replica.VerifyLeader(); err != nil {
		return nil, err
	}
	return a.loop.picture(ctx)
}

// memory returns the replicated state as consistently as sight, without the
// soft state, so that the loop does not stop to draw that.
func (a *api) memory(ctx context.Context) (*state.State, error) {
	if err := a.replica.VerifyLeader(); err != nil {
		return nil, err
	}
	return a.loop.state(ctx)
}

// glance returns what this master has replicated, whoever leads; there is no
// soft state in it.
func (a *api) glance() *picture {
	return &picture{State: a.replica.State(), Match: &match.View{}, Term: a.replica.Term()}
}

// read serves an endpoint that only looks.
func (a *api) read(look func(*http.Request, *picture) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		stale, err := flag(r, "stale")
		if err != nil {
			return err
		}
		p := a.glance()
		if !stale {
			if p, err = a.sight(r.Context()); err != nil {
				return a.elsewhere(w, r, err)
			}
		}
		body, packed, err := a.answer(r, p, look)
		if err == nil {
			send(w, body, packed)
		}
		return err
	}
}

// answer makes an answer to be sent, few at a time: however many ask for large lists,
// the loop finds a processor.
func (a *api) answer(r *http.Request, p *picture, look func(*http.Request, *picture) (any, error)) (body []byte, packed bool, err error) {
	if !a.looks.enterOr(r.Context().Done()) {
		return nil, false, offers.Errorf(offers.Unavailable, "the request was given up")
	}
	defer a.looks.leave()
	v, err := look(r, p)
	if err != nil {
		return nil, false, err
	}
	return pack(r, v)
}

// elsewhere sends a request that only the leader can serve there; any error
// but not_leader comes back as it is.
func (a *api) elsewhere(w http.ResponseWriter, r *http.Request, err error) error {
	if !errors.Is(err, &offers.Error{Code: offers.NotLeader}) {
		return err
	}
	leader, ok := a.replica.Leader()
	if !ok || leader.HTTP == "" || leader.ID == a.replica.Self().ID {
		return errNoLeader()
	}
	w.Header().Set("Location", a.door.Scheme()+"://"+leader.HTTP+r.URL.RequestURI())
	return &statusError{http.StatusTemporaryRedirect, offers.Errorf(offers.NotLeader, "the master %s leads, at %s", leader.Name, leader.HTTP)}
}

// lister collects one page of a list: the items whose key comes after the
// cursor, in the order they are given, up to the limit. A cursor is the name of
// the list and the last key of the page before, so that what is none is refused
// instead of taken for a place in the list.
type lister struct {
	name    string
	after   string
	limit   int
	items   []any
	last    string
	hasNext bool
}

// cursorSign stands between a list's name and a key.
const cursorSign = "."

// newLister reads the query values that lists share.
func newLister(r *http.Request, name string) (*lister, error) {
	l := &lister{name: name, limit: shown.DefaultLimit, items: []any{}}
	if next := r.URL.Query().Get("next"); next != "" {
		if l.after, _ = strings.CutPrefix(next, name+cursorSign); l.after == "" || l.after == next {
			return nil, offers.Errorf(offers.BadMessage, "next is %.60q: that is not what a page of %s gave; without it comes the first one", next, name)
		}
	}
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > shown.MaxLimit {
			return nil, offers.Errorf(offers.BadMessage, "limit is %.60q; 1 to %d", text, shown.MaxLimit)
		}
		l.limit = n
	}
	if role := offers.Role(r.URL.Query().Get("role")); role != "" {
		if err := role.Validate(); err != nil {
			return nil, offers.Errorf(offers.BadMessage, "%s", err)
		}
	}
	return l, nil
}

// add offers one item, in ascending order of keys, and reports whether more
// are wanted. show is called only for what is on the page.
func (l *lister) add(key string, show func() any) bool {
	if key <= l.after && l.after != "" {
		return true
	}
	if len(l.items) == l.limit {
		l.hasNext = true
		return false
	}
	l.items, l.last = append(l.items, show()), key
	return true
}

// page returns the answer, wrapped under the list's name.
func (l *lister) page() any {
	out := map[string]any{l.name: l.items}
	if l.hasNext {
		out["next"] = l.name + cursorSign + l.last
	}
	return out
}
