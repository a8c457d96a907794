package lead

import (
	"strings"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// maxClients bounds what is remembered of clients. Past it all is forgotten: a
// register that is late just then takes over, as it would from a client that
// does not count its connections.
const (
	maxClients = 1 << 16
	maxClient  = 64 // bytes; longer ones are not counted
)

// superseded reports whether a newer connection of the same client registered
// in this term. Connections are read side by side, so what was sent first may
// come last: after a pause of this master, a connection that its client gave
// up and the one it went on with are found at once.
func (c *Core) superseded(a *wire.Attempt) bool {
	if a == nil || a.Client == "" || len(a.Client) > maxClient {
		return false
	}
	if a.Number < c.attempts[a.Client] {
		return true
	}
	if len(c.attempts) >= maxClients {
		clear(c.attempts)
	}
	c.attempts[strings.Clone(a.Client)] = a.Number // what came with it need not stay for it
	return false
}
