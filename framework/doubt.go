package framework

import (
	"context"
	"errors"
	"net/url"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// doubt asks the other masters who leads, since the one at at, which link leads to, has
// let a heartbeat go by. A leader that was stopped or cut off ends no connection; where
// another one is named, or leads itself, it is left before its silence is over.
func (c *Client) doubt(ctx context.Context, link wire.Link, at string) {
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
		case !errors.As(err, &elsewhere):
			continue // it does not know
		case sameHost(elsewhere.Location, at):
			return
		}
		link.End("another master leads")
		return
	}
}

// sameHost reports whether two URLs are of one host and port.
func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && u.Host == v.Host
}
