package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// How an entry's commands follow each other since version 7. What makes up the
// load of a cluster is written field by field in the order of its struct; the
// rest, and a launch with what is seldom said, as CBOR.
//
//	count  { 0  length  CBOR | 1  launch | 2  end | 3  acknowledgement } ...
//
// Numbers are varints, signed ones in zigzag. A text is its length and one, and
// its bytes, or 0 for the one that was last in the same slot: the tasks of a job
// come one after the other. Lists and maps are their length and one, or 0 where
// there is none, and for CBOR an empty one of a field that may be left away is
// none; maps ascend by their keys. Times are seconds and nanoseconds since 1970.
// A field that is added to these commands needs another version; a test holds
// that none is forgotten.
const (
	compactOther = iota
	compactLaunch
	compactEnd
	compactAcknowledge
)

// The slots of texts.
const (
	slotFramework = iota
	slotAgent
	slotTask
	slotLaunch
	slotUpdate
	slotDemand
	slotRole
	slotUser
	slotPolicy
	slotName
	slotState
	slotReason
	slotAddress
	slotWord // whatever is in lists and maps, and the rest
	slots
)

// What a part of a launch is written as.
const (
	partNone = iota
	partGiven
	partSame // as in the launch before
)

// compactWriter appends commands.
type compactWriter struct {
	out  []byte
	last [slots]string
	like *offers.Task // of the launch before
}

// compactSize is about what a command takes, but for a value that is stored.
const compactSize = 128

// appendCommands appends the commands of a batch in compact form.
func appendCommands(out []byte, batch []Command) ([]byte, error) {
	room := compactSize * (1 + len(batch))
	for i := range batch {
		if put := batch[i].Put; put != nil {
			room += len(put.Value)
		}
	}
	w := compactWriter{out: binary.AppendUvarint(slices.Grow(out, room), uint64(len(batch)))}
	for i := range batch {
		if err := w.command(inCalendar(batch[i])); err != nil {
			return nil, err
		}
	}
	return w.out, nil
}

func (w *compactWriter) command(c Command) error {
	switch {
	case c.Launch != nil && common(&c.Launch.Task):
		w.byte(compactLaunch)
		w.launch(&c.Launch.Task)
	case c.EndTask != nil:
		w.byte(compactEnd)
		w.ref(c.EndTask.Ref)
		w.status(&c.EndTask.Status)
	case c.Acknowledge != nil:
		w.byte(compactAcknowledge)
		w.ref(c.Acknowledge.Ref)
		w.text(slotUpdate, string(c.Acknowledge.UpdateID))
	default:
		w.byte(compactOther)
		body, err := encoding.Marshal(&c)
		if err != nil {
			return err
		}
		w.uvarint(uint64(len(body)))
		w.out = append(w.out, body...)
	}
	return nil
}

// common reports whether launch writes all that is said of a task.
func common(t *TaskRecord) bool {
	s := &t.Spec
	return s.Container == nil && s.Artifacts == nil && s.Health == nil && s.Resources.AnyPorts == 0 &&
		t.Kill == nil && t.End == nil && !t.Acknowledged && t.Ended == 0 && !t.Restored && !t.Doubtful
}

func (w *compactWriter) launch(t *TaskRecord) {
	w.text(slotFramework, string(t.Framework))
	w.text(slotAgent, string(t.Agent))
	w.text(slotLaunch, string(t.LaunchID))
	w.text(slotDemand, string(t.Demand))
	w.text(slotRole, string(t.Role))
	w.text(slotUser, t.User)
	w.text(slotPolicy, string(t.Policy))
	s := &t.Spec
	w.text(slotTask, string(s.ID))
	w.text(slotName, s.Name)
	w.amounts(s.Resources.Amounts)
	w.ports(s.Resources.Ports == nil, s.Resources.Ports)
	writeMap(w, s.Resources.Devices == nil, s.Resources.Devices, func(a offers.DeviceAsk) {
		w.varint(int64(a.Count))
		w.varint(a.Memory)
		w.varint(a.Share)
	})
	switch {
	case s.Command == nil:
		w.byte(partNone)
	case w.like != nil && sameCommand(s.Command, w.like.Command):
		w.byte(partSame)
	default:
		w.byte(partGiven)
		w.program(s.Command)
	}
	w.varint(int64(s.KillGrace))
	w.varint(int64(s.MaxRuntime))
	switch {
	case len(s.Labels) == 0:
		w.byte(partNone)
	case w.like != nil && maps.Equal(s.Labels, w.like.Labels):
		w.byte(partSame)
	default:
		w.byte(partGiven)
		w.words(s.Labels)
	}
	w.text(slotWord, string(s.Traceparent))
	w.amounts(t.Holding.Amounts)
	w.ports(len(t.Holding.Ports) == 0, t.Holding.Ports)
	w.devices(t.Holding.Devices)
	w.time(t.Created)
	w.uvarint(t.Absences)
	w.like = s
}

func (w *compactWriter) program(c *offers.Command) {
	w.length(len(c.Argv) == 0, len(c.Argv))
	for _, arg := range c.Argv {
		w.text(slotWord, arg)
	}
	w.text(slotWord, c.Shell)
	w.words(c.Env)
	w.text(slotWord, c.User)
	w.text(slotWord, c.Dir)
}

func (w *compactWriter) status(s *offers.Status) {
	w.text(slotTask, string(s.Task))
	w.text(slotAgent, string(s.Agent))
	w.text(slotState, string(s.State))
	w.text(slotUpdate, string(s.UpdateID))
	w.text(slotReason, s.Reason)
	w.text(slotWord, s.Message)
	w.bool(s.ExitCode != nil)
	if s.ExitCode != nil {
		w.varint(int64(*s.ExitCode))
	}
	w.text(slotWord, s.Signal)
	w.bool(s.Healthy != nil)
	if s.Healthy != nil {
		w.bool(*s.Healthy)
	}
	writeMap(w, len(s.Devices) == 0, s.Devices, w.grants)
	w.text(slotAddress, s.Address)
	w.time(s.Started)
	w.time(s.Time)
}

func (w *compactWriter) ref(r offers.TaskRef) {
	w.text(slotFramework, string(r.Framework))
	w.text(slotTask, string(r.Task))
}

func (w *compactWriter) amounts(a offers.Amounts) {
	for _, n := range a {
		w.varint(n)
	}
}

func (w *compactWriter) ports(none bool, ports offers.Ports) {
	w.length(none, len(ports))
	for _, p := range ports {
		w.uvarint(uint64(p.First))
		w.uvarint(uint64(p.Last))
	}
}

func (w *compactWriter) grants(grants []offers.Grant) {
	w.length(grants == nil, len(grants))
	for _, g := range grants {
		w.text(slotWord, g.ID)
		w.varint(int64(g.Index))
		w.varint(g.Memory)
		w.varint(g.Share)
	}
}

// devices are written as a map from their classes would be.
func (w *compactWriter) devices(held offers.Devices) {
	w.length(len(held) == 0, len(held))
	for i := range held {
		w.text(slotWord, held[i].Class)
		w.grants(held[i].Grants)
	}
}

func (w *compactWriter) words(m map[string]string) {
	writeMap(w, len(m) == 0, m, func(word string) { w.text(slotWord, word) })
}

func writeMap[V any](w *compactWriter, none bool, m map[string]V, value func(V)) {
	if w.length(none, len(m)); len(m) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.text(slotWord, key)
		value(m[key])
	}
}

// length writes that of a list or map.
func (w *compactWriter) length(none bool, n int) {
	if none {
		w.byte(0)
		return
	}
	w.uvarint(uint64(n) + 1)
}

func (w *compactWriter) text(slot int, s string) {
	if s == w.last[slot] {
		w.byte(0)
		return
	}
	w.last[slot] = s
	w.uvarint(uint64(len(s)) + 1)
	w.out = append(w.out, s...)
}

// time writes to the nanosecond, and neither the zone nor the clock's reading.
func (w *compactWriter) time(t time.Time) {
	w.varint(t.Unix())
	w.uvarint(uint64(t.Nanosecond()))
}

func (w *compactWriter) byte(b byte)      { w.out = append(w.out, b) }
func (w *compactWriter) uvarint(n uint64) { w.out = binary.AppendUvarint(w.out, n) }
func (w *compactWriter) varint(n int64)   { w.out = binary.AppendVarint(w.out, n) }

func (w *compactWriter) bool(b bool) {
	if b {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

var errShort = errors.New("it is cut short")

// read reads what appendCommands wrote, all of it.
func (d *Decoder) read(in []byte) ([]Command, error) {
	r := compactReader{rest: in, room: d}
	n := r.bounded(r.uvarint(), MaxBatch, 1)
	batch := d.commands(n)
	for i := range batch {
		r.command(&batch[i])
		if r.err != nil {
			return nil, fmt.Errorf("decode command %d: %w", i, r.err)
		}
	}
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("decode commands: %w", r.err)
	case len(r.rest) > 0:
		return nil, fmt.Errorf("decode commands: %d extraneous bytes", len(r.rest))
	}
	return batch, nil
}
