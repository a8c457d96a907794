package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// call is one request to the store that waits for its answer.
type call struct {
	op, key string
	value   string
	version *uint64
	at      time.Duration
}

// shop asks the store for something.
func (f *framework) shop() {
	w := f.w
	m := &wire.StateRequest{Op: pick(w, []string{"get", "get", "put", "put", "put", "delete"}), Key: fmt.Sprintf("%d/%s", w.now/(3*time.Minute), pick(w, []string{"a", "b"}))}
	c := call{op: m.Op, key: m.Key, at: w.now}
	if m.Op == "put" {
		w.written++
		c.value = strconv.Itoa(w.written)
		m.Value = json.RawMessage(c.value)
	}
	if m.Op != "get" && w.chance(0.6) {
		v := w.rng.Uint64N(4)
		m.Version, c.version = &v, &v
	}
	n, err := f.session.Call(m)
	if err != nil {
		w.broken("%s may not ask its store for %+v: %v", f.name, m, err)
		return
	}
	f.calls[n] = c
}

// answered checks an answer: it was true at some moment since the question.
func (f *framework) answered(a session.Answer) {
	c, known := f.calls[a.Call]
	delete(f.calls, a.Call)
	var refused *offers.Error
	switch was := func(good func(cell) bool) bool { return f.w.judge.under(f.id, c.key, c.at, good) }; {
	case !known:
		f.w.broken("%s gets an answer of its store twice", f.name)
	case errors.As(a.Err, &refused) && refused.Code == offers.VersionConflict:
		if !was(func(o cell) bool { return o.version != *c.version }) {
			f.w.broken("%s may not %s %s at version %d, which it had all the time", f.name, c.op, c.key, *c.version)
		}
	case a.Err != nil:
	case c.op == "get":
		if !was(func(o cell) bool { return o.version == a.State.Version && o.value == string(a.State.Value) }) {
			f.w.broken("%s reads %s = %s of version %d, which it was not since it asked", f.name, c.key, a.State.Value, a.State.Version)
		}
	case !was(func(o cell) bool { return o.at >= c.at && o.value == c.value && o.version == a.State.Version }):
		f.w.broken("%s is told that %s %s = %s is done, which it is not", f.name, c.op, c.key, c.value)
	}
}

// cell is what was under a key of a framework's store from some time on.
type cell struct {
	at      time.Duration
	known   time.Duration // when the leader heard so, and says it
	version uint64
	value   string
}

// unheard is when the leader hears what it has not heard yet.
const unheard = time.Duration(math.MaxInt64)

// wrote follows what is committed to a store. Every value is written once.
func (j *judge) wrote(c *state.Command, r state.Result) {
	id, key, now := offers.FrameworkID(""), "", &cell{at: j.w.now, known: unheard}
	if c.Put != nil {
		id, key, now.value = c.Put.Framework, c.Put.Key, string(c.Put.Value)
		now.version, _ = r.Value.(uint64)
	} else {
		id, key = c.Delete.Framework, c.Delete.Key
	}
	if j.shops[id] == nil {
		j.shops[id] = map[string][]*cell{}
	}
	for _, old := range j.shops[id][key] {
		if c.Put != nil && old.value == now.value {
			j.w.broken("framework %s writes %s to %s a second time", id, now.value, key)
		}
	}
	j.shops[id][key] = append(j.shops[id][key], now)
	j.fresh = append(j.fresh, now)
}

// heard notes that a leader has heard of the first n writes that none had heard
// of. Until then it answers, before whoever wrote, as if they were not.
func (j *judge) heard(n int) {
	for _, c := range j.fresh[:n] {
		c.known = j.w.now
	}
	j.fresh = j.fresh[n:]
}

// under reports whether good is true of what was under a key at some moment
// since then.
func (j *judge) under(id offers.FrameworkID, key string, since time.Duration, good func(cell) bool) bool {
	cells := append([]*cell{{}}, j.shops[id][key]...)
	for i, c := range cells {
		if (i+1 == len(cells) || cells[i+1].known >= since) && good(*c) {
			return true
		}
	}
	return false
}
