package wire

import (
	"io"
	"time"
)

// pingSlot is the time into which pings are gathered: those of all connections
// of the hosts whose clocks agree go out at its multiples, so that a leader with
// very many agents is woken for some of them at once and not for each.
const pingSlot = 20 * time.Millisecond

// tillPing returns how long to wait before an end that has been quiet for so long
// is asked, or asked again.
func (o *Options) tillPing(now time.Time, quiet time.Duration) time.Duration {
	left := o.Ping - quiet
	if left <= 0 {
		left = o.Ping
	}
	return now.Add(left + pingSlot).Truncate(pingSlot).Sub(now)
}

// Heard implements [Link].
func (c *Conn) Heard() time.Time {
	now := time.Now()
	return now.Add(min(c.opts.Silence/heardParts-c.quiet(), 0))
}

// heardParts is into how many parts Silence is divided to say when somebody was
// heard.
const heardParts = 64

// heard notes a sign of life. The deadline and the ping are put off now and then,
// which is what takes time; a ping that comes due to find that it need not go out
// takes more. Putting off that of a connection that has ended does no harm.
func (c *Conn) heard() {
	if quiet := c.quiet(); quiet > c.opts.Silence/heardParts {
		c.last.Add(int64(quiet))
		now := time.Now()
		_ = c.ws.SetReadDeadline(now.Add(c.opts.Silence))
		c.pings.Reset(c.opts.tillPing(now, 0))
	}
}

// pieces reads a message, each piece of which is a sign of life: over a slow line
// a large one takes longer than a silence may, and no pong comes in the middle.
type pieces struct {
	of    io.Reader
	heard func()
}

func (p *pieces) Read(to []byte) (int, error) {
	n, err := p.of.Read(to)
	if n > 0 {
		p.heard()
	}
	return n, err
}

// quiet returns for how long nothing was heard, or up to a 64th of Silence more.
func (c *Conn) quiet() time.Duration { return time.Since(c.born) - time.Duration(c.last.Load()) }

// ask has the other end pinged if it is quiet.
func (c *Conn) ask() {
	if c.stopped() {
		return
	}
	quiet := c.quiet()
	c.pings.Reset(c.opts.tillPing(time.Now(), quiet))
	if quiet >= c.opts.Ping || c.away.Load() { // else it lives; whether we do it asks itself
		c.asks.Store(true)
		c.rouse()
	}
}

// answer has a ping answered, the last one alone where several wait for it. That
// is the writer's to do: beside a piece of its that is under way a pong would have
// its own, shorter deadline hold for both.
func (c *Conn) answer(ping string) {
	c.asked.Store(&ping)
	c.rouse()
}
