package state

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// compactReader reads what compactWriter wrote. Of what it returns nothing
// shares the memory of the entry, and what is the same as before that of what
// was before. After an error it reads nothing more.
type compactReader struct {
	rest []byte
	room *Decoder
	last [slots]string
	like *offers.Task // of the launch before
	err  error
}

func (r *compactReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *compactReader) command(c *Command) {
	switch kind := r.byte(); kind {
	case compactOther:
		if body := r.bytes(r.uvarint()); r.err == nil {
			if err := decoding.Unmarshal(body, c); err != nil {
				r.fail(err)
			}
		}
	case compactLaunch:
		c.Launch = r.room.launch()
		r.launch(&c.Launch.Task)
	case compactEnd:
		c.EndTask = &EndTask{Ref: r.ref()}
		r.status(&c.EndTask.Status)
	case compactAcknowledge:
		c.Acknowledge = &Acknowledge{Ref: r.ref(), UpdateID: offers.UpdateID(r.text(slotUpdate))}
	default:
		r.fail(fmt.Errorf("its kind is %d, which is unknown", kind))
	}
}

func (r *compactReader) launch(t *TaskRecord) {
	t.Framework = offers.FrameworkID(r.text(slotFramework))
	t.Agent = offers.AgentID(r.text(slotAgent))
	t.LaunchID = offers.LaunchID(r.text(slotLaunch))
	t.Demand = offers.DemandID(r.text(slotDemand))
	t.Role = offers.Role(r.text(slotRole))
	t.User = r.text(slotUser)
	t.Policy = offers.Policy(r.text(slotPolicy))
	s := &t.Spec
	s.ID = offers.TaskID(r.text(slotTask))
	s.Name = r.text(slotName)
	s.Resources.Amounts = r.amounts()
	s.Resources.Ports = r.ports()
	s.Resources.Devices = readMap(r, func() offers.DeviceAsk {
		return offers.DeviceAsk{Count: int(r.varint()), Memory: r.varint(), Share: r.varint()}
	})
	switch r.part() {
	case partGiven:
		s.Command = r.program()
	case partSame:
		s.Command = r.like.Command
	}
	s.KillGrace = offers.Duration(r.varint())
	s.MaxRuntime = offers.Duration(r.varint())
	switch r.part() {
	case partGiven:
		s.Labels = r.words()
	case partSame:
		s.Labels = r.like.Labels
	}
	s.Traceparent = offers.Traceparent(r.text(slotWord))
	t.Holding = offers.Holding{Amounts: r.amounts(), Ports: r.ports(), Devices: r.devices()}
	t.Created = r.time()
	t.Absences = r.uvarint()
	r.like = s
}

// part reads what a part is written as. Only behind a launch it can be the same.
func (r *compactReader) part() byte {
	p := r.byte()
	if p > partSame || p == partSame && r.like == nil {
		r.fail(fmt.Errorf("a part of it is written as %d", p))
		return partNone
	}
	return p
}

func (r *compactReader) program() *offers.Command {
	c := new(offers.Command)
	if n, some := r.length(maxElements, 1); some {
		c.Argv = make([]string, n)
		for i := range c.Argv {
			c.Argv[i] = r.text(slotWord)
		}
	}
	c.Shell = r.text(slotWord)
	c.Env = r.words()
	c.User = r.text(slotWord)
	c.Dir = r.text(slotWord)
	return c
}

func (r *compactReader) status(s *offers.Status) {
	s.Task = offers.TaskID(r.text(slotTask))
	s.Agent = offers.AgentID(r.text(slotAgent))
	s.State = offers.State(r.text(slotState))
	s.UpdateID = offers.UpdateID(r.text(slotUpdate))
	s.Reason = r.text(slotReason)
	s.Message = r.text(slotWord)
	if r.bool() {
		code := int(r.varint())
		s.ExitCode = &code
	}
	s.Signal = r.text(slotWord)
	if r.bool() {
		healthy := r.bool()
		s.Healthy = &healthy
	}
	s.Devices = readMap(r, r.grants)
	s.Address = r.text(slotAddress)
	s.Started = r.time()
	s.Time = r.time()
}

func (r *compactReader) ref() offers.TaskRef {
	return offers.TaskRef{Framework: offers.FrameworkID(r.text(slotFramework)), Task: offers.TaskID(r.text(slotTask))}
}

func (r *compactReader) amounts() (a offers.Amounts) {
	for k := range a {
		a[k] = r.varint()
	}
	return a
}

func (r *compactReader) ports() offers.Ports {
	n, some := r.length(math.MaxUint16, 2)
	if !some {
		return nil
	}
	out := make(offers.Ports, n)
	for i := range out {
		out[i] = offers.PortRange{First: r.port(), Last: r.port()}
	}
	return out
}

func (r *compactReader) port() uint16 {
	n := r.uvarint()
	if n > math.MaxUint16 {
		r.fail(fmt.Errorf("%d is no port", n))
	}
	return uint16(n)
}

func (r *compactReader) grants() []offers.Grant {
	n, some := r.length(maxElements, 4)
	if !some {
		return nil
	}
	out := make([]offers.Grant, n)
	for i := range out {
		out[i] = offers.Grant{ID: r.text(slotWord), Index: int(r.varint()), Memory: r.varint(), Share: r.varint()}
	}
	return out
}

func (r *compactReader) devices() offers.Devices {
	n, some := r.length(maxElements, 2)
	if !some {
		return nil
	}
	out := make(offers.Devices, n)
	for i := range out {
		out[i] = offers.ClassGrants{Class: r.text(slotWord), Grants: r.grants()}
		if i > 0 && out[i].Class <= out[i-1].Class {
			r.fail(fmt.Errorf("the devices of %.60q are out of order", out[i].Class))
			return nil
		}
	}
	return out
}

func (r *compactReader) words() map[string]string {
	return readMap(r, func() string { return r.text(slotWord) })
}

func readMap[V any](r *compactReader, value func() V) map[string]V {
	n, some := r.length(maxElements, 2)
	if !some {
		return nil
	}
	out := make(map[string]V, n)
	for range n {
		key := r.text(slotWord)
		if _, twice := out[key]; twice {
			r.fail(fmt.Errorf("%.60q is in it twice", key))
			return nil
		}
		out[key] = value()
	}
	return out
}

// length reads that of a list or map, of elements of at least so many bytes; some
// is false where there is none.
func (r *compactReader) length(most, size int) (n int, some bool) {
	written := r.uvarint()
	if written == 0 {
		return 0, false
	}
	return r.bounded(written-1, most, size), true
}

// bounded returns n where so many elements of at least so many bytes may follow.
func (r *compactReader) bounded(n uint64, most, size int) int {
	switch {
	case n > uint64(most):
		r.fail(fmt.Errorf("%d elements; at most %d", n, most))
		return 0
	case n > uint64(len(r.rest)/size):
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *compactReader) text(slot int) string {
	n := r.uvarint()
	if n > 0 {
		r.last[slot] = string(r.bytes(n - 1))
	}
	return r.last[slot]
}

// bytes returns the next n bytes, which belong to the entry.
func (r *compactReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail(errShort)
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *compactReader) time() time.Time {
	seconds, nanos := r.varint(), r.uvarint()
	if nanos >= uint64(time.Second) {
		r.fail(fmt.Errorf("a second has no %d nanoseconds", nanos))
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos)).UTC()
}

func (r *compactReader) byte() byte {
	b := r.bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (r *compactReader) bool() bool {
	b := r.byte()
	if b > 1 {
		r.fail(fmt.Errorf("%d is neither yes nor no", b))
	}
	return b == 1
}

func (r *compactReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	return read(r, n, size)
}

func (r *compactReader) varint() int64 {
	n, size := binary.Varint(r.rest)
	return read(r, n, size)
}

// read takes a number off, of which the size is not positive where there is none.
func read[N int64 | uint64](r *compactReader, n N, size int) N {
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}
