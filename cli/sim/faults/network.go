package faults

import (
	"slices"
	"time"
)

// silence is how long a connection may be silent before its end is given up,
// as in offers/wire.
const silence = 30 * time.Second

// network is who can't reach whom, and how slow it is.
type network struct {
	w       *world
	blocked map[[2]string]int // from, to: how many faults block it
	slow    time.Duration     // added to delays now and then
	lossy   float64           // how likely a frame is lost or doubled that may be
	lanes   []*end            // of every open connection, in order
}

// end is one end of a connection. What it sends arrives in order or, from
// some moment on, not at all.
type end struct {
	net     *network
	owner   *process
	other   *end
	open    bool
	last    time.Duration // when the last message to the other end arrives
	gap     bool          // something was lost: nothing arrives any more
	held    [][]byte      // sent while the way was blocked
	blocks  int           // of the way to the other end, so far
	receive func(frame []byte)
	ended   func(reason string) // the connection is over; called once, unless close was
}

func (n *network) reaches(from, to string) bool { return n.blocked[[2]string{from, to}] == 0 }

func (n *network) delay() time.Duration {
	d := n.w.between(50*time.Microsecond, 3*time.Millisecond)
	if n.slow > 0 && n.w.chance(0.3) {
		d += n.w.between(0, n.slow)
	}
	return d
}

// connect returns both ends of a new connection.
func (n *network) connect(client, server *process) (c, s *end) {
	c = &end{net: n, owner: client, open: true}
	s = &end{net: n, owner: server, open: true, other: c}
	c.other = s
	client.ends = append(client.ends, c)
	server.ends = append(server.ends, s)
	n.lanes = append(n.lanes, c, s)
	return c, s
}

// fate is what may become of one frame on a connection that stays. Real ones
// lose and double nothing; who takes messages is promised to bear it all the
// same where it says so.
type fate int

const (
	certain fate = iota
	doubled      // may come twice: an order, a status
	lost         // or never: an update or an acknowledgement, since those are resent
)

// send puts a frame on its way.
func (e *end) send(frame []byte, f fate) {
	w := e.net.w
	if !e.open {
		return
	}
	if f != certain && e.net.lossy > 0 && !w.healed && w.chance(e.net.lossy) {
		if f == lost && w.chance(0.5) {
			w.fault("message lost")
			w.tell(e.owner.name, "sends what is lost: %s", frame)
			return
		}
		w.fault("message doubled")
		e.travel(frame)
	}
	e.travel(frame)
}

// travel takes a frame, or with nil the news that this end is closed.
func (e *end) travel(frame []byte) {
	n, run := e.net, e.other.owner.run
	e.last = max(e.last, n.w.now+n.delay())
	n.w.after(e.last-n.w.now, func() {
		switch {
		case e.gap || !e.other.open:
		case !n.reaches(e.owner.name, e.other.owner.name) || len(e.held) > 0:
			e.held = append(e.held, frame)
		default:
			e.other.owner.step(run, func() { e.other.arrive(frame) })
		}
	})
}

func (e *end) arrive(frame []byte) {
	switch {
	case !e.open:
	case frame == nil:
		e.end("the other end closed it")
	default:
		e.net.w.mix(frame)
		e.receive(frame)
	}
}

// end is over without this side's doing.
func (e *end) end(reason string) {
	if e.open {
		e.close(reason)
		e.ended(reason)
	}
}

// close closes this end; the other one learns of it if it can.
func (e *end) close(string) {
	if !e.open {
		return
	}
	e.open = false
	e.owner.ends = slices.DeleteFunc(e.owner.ends, func(o *end) bool { return o == e })
	e.net.lanes = slices.DeleteFunc(e.net.lanes, func(o *end) bool { return o == e && !o.other.open || o == e.other && !o.open })
	e.travel(nil)
}

// vanish takes this end away without a word; the other one waits in vain.
func (e *end) vanish() {
	e.open = false
	e.owner.ends = slices.DeleteFunc(e.owner.ends, func(o *end) bool { return o == e })
	e.other.expect(func() bool { return true })
}

// reset breaks the connection for both ends.
func (e *end) reset() {
	for _, one := range []*end{e, e.other} {
		one.gap = true
		one.owner.after(one.net.delay(), func() { one.end("the connection broke") })
	}
}

// expect ends e after the silence, if it is still silent then.
func (e *end) expect(silent func() bool) {
	e.owner.after(silence, func() {
		if silent() {
			e.end("silence")
		}
	})
}

// block stops everything from one to another for d.
func (n *network) block(from, to string, d time.Duration) {
	n.blocked[[2]string{from, to}]++
	for _, e := range n.lanes {
		if e.owner.name != from || e.other.owner.name != to {
			continue
		}
		e.blocks++
		mark := e.blocks
		e.other.expect(func() bool { return e.blocks == mark && (e.gap || !n.reaches(from, to)) })
	}
	n.w.after(d, func() { n.unblock(from, to) })
}

// unblock lets what was held arrive late, or loses it and the connection.
func (n *network) unblock(from, to string) {
	key := [2]string{from, to}
	if n.blocked[key]--; n.blocked[key] > 0 {
		return
	}
	delete(n.blocked, key)
	for _, e := range slices.Clone(n.lanes) {
		if e.owner.name != from || e.other.owner.name != to || len(e.held) == 0 {
			continue
		}
		held := e.held
		e.held = nil
		if e.gap = e.gap || n.w.chance(0.3); e.gap {
			e.other.owner.after(n.w.between(0, silence), func() { e.other.end("silence") })
			continue
		}
		for _, frame := range held {
			e.travel(frame)
		}
	}
}
