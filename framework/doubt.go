package framework

import (
	"context"
	"errors"
	"net/url"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// doubt asks the other masters who leads, since the one at at, which link leads to, has
// let a heartbeat go by. A leader that was stopped or cut off ends no connection; where
// another one is named, or leads itself, it is left before its silence is over. The
// others know it by the address that it tells, which need not be the one in at; and
// it may be among those that are asked by yet another, where its term tells that it
// is no other.
func (c *Client) doubt(ctx context.Context, link wire.Link, at string) {
	c.mu.Lock()
	silent := c.session.Master()
	c.mu.Unlock()
	for _, other := range c.config.Masters {
		if sameHost(other, at) {
			continue
		}
		within, cancel := context.WithTimeout(ctx, dialPatience)
		found, err := c.config.Dial(within, other)
		cancel()
		var elsewhere *wire.RedirectError
		switch {
		case err == nil:
			found.Close("it was only asked whether it leads")
			if term := found.Term(); term > 0 && term <= silent.Term {
				continue // the silent one itself, or one whose time is over
			}
		case !errors.As(err, &elsewhere):
			continue // it does not know
		case sameHost(elsewhere.Location, at), hostOf(elsewhere.Location) == silent.Address:
			return
		}
		link.End("another master leads")
		return
	}
}

// sameHost reports whether two URLs are of one host and port.
func sameHost(a, b string) bool { return hostOf(a) != "" && hostOf(a) == hostOf(b) }

// hostOf returns the host:port of a URL, "" of what is none.
func hostOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	return u.Host
}
