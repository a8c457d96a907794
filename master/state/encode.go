package state

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Limits of one Raft entry. Encode refuses what passes them, so that every
// entry that was written can be read.
const (
	MaxBatch = 1 << 16  // commands
	MaxEntry = 64 << 20 // bytes
)

// commandVersion is the first byte of an entry. It changes with everything
// that makes an older master compute something else from the same bytes.
// Entries from oldestVersion on are read.
//
//	1  a key that is written again after its deletion starts at version 1
//	2  it goes on from there, and a store is bounded in bytes
//	3  the absences of agents are counted, and what ends a registration says which
//	4  launches have names
//	5  and say for which demand they are
//	6  and may be part of a trace
//	7  the commonest commands are written compactly, see appendCommands
const (
	commandVersion = 7
	compactVersion = 7 // the first that is
	oldestVersion  = 1
)

// How records and most commands are written: field by field under the names of the
// json tags, never through JSON methods; core deterministic CBOR; times as
// RFC 3339 in UTC to the nanosecond. A field or a version that is not known
// here is an error: a master that skipped it would compute another state.
var (
	encoding = must(encodeOptions().UserBufferEncMode())
	decoding = must(decodeOptions().DecMode())
)

func encodeOptions() cbor.EncOptions {
	o := cbor.CoreDetEncOptions()
	o.Time = cbor.TimeRFC3339NanoUTC
	return o
}

// maxElements bounds one list or map: more than fit in the largest message.
const maxElements = 1 << 21

// decodeOptions refuses what Encode never writes. Texts need not be UTF-8, because a task's environment may not be.
func decodeOptions() cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8DecodeInvalid,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       maxElements,
		MaxNestedLevels:   16,
	}
}

func must[T any](mode T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("state: CBOR options: %v", err))
	}
	return mode
}

// Encode returns the batch as one Raft entry, see [Append].
func Encode(batch []Command) ([]byte, error) { return Append(nil, batch) }

// Append appends the batch as one Raft entry to out. It fails for a batch without
// commands or past the limits, and for a command that is none.
func Append(out []byte, batch []Command) ([]byte, error) {
	if err := proper(batch); err != nil {
		return nil, err
	}
	before := len(out)
	out, err := appendCommands(append(out, commandVersion), batch)
	if err != nil {
		return nil, fmt.Errorf("encode commands: %w", err)
	}
	if size := len(out) - before; size > MaxEntry {
		return nil, fmt.Errorf("encode commands: %d bytes; at most %d in one entry", size, MaxEntry)
	}
	return out, nil
}

// Decode reads one Raft entry, all of it or nothing.
func Decode(entry []byte) ([]Command, error) { return new(Decoder).Decode(entry) }

// Decoder reads entries one after the other. It uses its memory again, so what it
// returned changes with the next one. Not safe for concurrent use.
type Decoder struct {
	batch    []Command
	launches []Launch
	launched int // of launches, of the batch
}

// mostKept bounds the commands for which a decoder keeps memory: half a kilobyte each.
const mostKept = 4096

// commands returns room for n commands.
func (d *Decoder) commands(n int) []Command {
	clear(d.batch)
	clear(d.launches[:d.launched])
	d.launched = 0
	if n > mostKept {
		return make([]Command, n)
	}
	if n > cap(d.batch) {
		d.batch, d.launches = make([]Command, min(max(n, 2*cap(d.batch)), mostKept)), nil
	}
	d.batch = d.batch[:n]
	return d.batch
}

// launch returns room for one more launch of the batch.
func (d *Decoder) launch() *Launch {
	if d.launches == nil {
		d.launches = make([]Launch, cap(d.batch))
	}
	if d.launched == len(d.launches) {
		return new(Launch)
	}
	d.launched++
	return &d.launches[d.launched-1]
}

// Decode is as [Decode].
func (d *Decoder) Decode(entry []byte) ([]Command, error) {
	switch {
	case len(entry) == 0:
		return nil, fmt.Errorf("decode commands: the entry is empty")
	case len(entry) > MaxEntry:
		return nil, fmt.Errorf("decode commands: %d bytes; at most %d in one entry", len(entry), MaxEntry)
	case entry[0] < oldestVersion || entry[0] > commandVersion:
		return nil, fmt.Errorf("decode commands: the entry has version %d; this Ringmaster reads versions %d to %d, use the one that wrote it", entry[0], oldestVersion, commandVersion)
	}
	decode := d.read
	if entry[0] < compactVersion {
		decode = readList
	}
	batch, err := decode(entry[1:])
	if err != nil {
		return nil, err
	}
	return batch, proper(batch)
}

// readList reads the commands of an entry that is not compact: a list in CBOR.
func readList(in []byte) ([]Command, error) {
	var raw []cbor.RawMessage
	if err := decoding.Unmarshal(in, &raw); err != nil {
		return nil, fmt.Errorf("decode commands: %w", err)
	}
	if len(raw) > MaxBatch {
		return nil, fmt.Errorf("decode commands: a batch of %d; at most %d", len(raw), MaxBatch)
	}
	batch := make([]Command, len(raw))
	for i := range raw {
		if err := decoding.Unmarshal(raw[i], &batch[i]); err != nil {
			return nil, fmt.Errorf("decode command %d: %w", i, err)
		}
	}
	return batch, nil
}

func proper(batch []Command) error {
	if len(batch) == 0 || len(batch) > MaxBatch {
		return fmt.Errorf("a batch of %d commands; 1 to %d make an entry", len(batch), MaxBatch)
	}
	for i := range batch {
		if n := batch[i].given(); n != 1 {
			return fmt.Errorf("command %d names %d changes; exactly one", i, n)
		}
	}
	return nil
}

// inCalendar returns the command with every instant that RFC 3339 can't write
// (outside the years 0 to 9999) as the zero time. A report with such a time
// must not make an entry or a snapshot unreadable.
func inCalendar(c Command) Command {
	switch {
	case c.RegisterAgent != nil:
		c.RegisterAgent = amend(c.RegisterAgent, func(r *RegisterAgent) times { return times{&r.Time, &r.Agent.Started} })
	case c.SetAgentState != nil:
		c.SetAgentState = amend(c.SetAgentState, func(r *SetAgentState) times { return times{&r.Time} })
	case c.RegisterFramework != nil:
		c.RegisterFramework = amend(c.RegisterFramework, func(r *RegisterFramework) times { return times{&r.Time} })
	case c.DisconnectFramework != nil:
		c.DisconnectFramework = amend(c.DisconnectFramework, func(r *DisconnectFramework) times { return times{&r.Deadline} })
	case c.RemoveFramework != nil:
		c.RemoveFramework = amend(c.RemoveFramework, func(r *RemoveFramework) times { return times{&r.Time} })
	case c.Launch != nil:
		if t := &c.Launch.Task; t.Kill != nil || t.End != nil {
			launch := *c.Launch
			launch.Task.Kill, launch.Task.End = nil, nil
			c.Launch = &launch
		}
		c.Launch = amend(c.Launch, func(r *Launch) times { return times{&r.Task.Created} })
	case c.EndTask != nil:
		c.EndTask = amend(c.EndTask, func(r *EndTask) times { return times{&r.Status.Started, &r.Status.Time} })
	case c.KillTask != nil:
		c.KillTask = amend(c.KillTask, func(r *KillTask) times { return times{&r.Order.Time} })
	}
	return c
}

// times of a command, nil where it has fewer.
type times [2]*time.Time

// The years that can be written begin and end here.
var (
	calendarBegins = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	calendarEnds   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

func writable(t *time.Time) bool {
	return t == nil || !t.Before(calendarBegins) && t.Before(calendarEnds)
}

// amend returns c, or a copy of it without the times that can't be written.
func amend[T any](c *T, of func(*T) times) *T {
	if at := of(c); writable(at[0]) && writable(at[1]) {
		return c
	}
	copied := *c
	for _, t := range of(&copied) {
		if !writable(t) {
			*t = time.Time{}
		}
	}
	return &copied
}
