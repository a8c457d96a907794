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
const (
	commandVersion = 6
	oldestVersion  = 1
)

// How records and commands are written: field by field under the names of the
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

// Encode returns the batch as one Raft entry. It fails for a batch without
// commands or past the limits, and for a command that is none.
func Encode(batch []Command) ([]byte, error) {
	if err := proper(batch); err != nil {
		return nil, err
	}
	bounded := make([]Command, len(batch))
	for i := range batch {
		bounded[i] = inCalendar(batch[i])
	}
	body, err := encoding.Marshal(bounded)
	if err != nil {
		return nil, fmt.Errorf("encode commands: %w", err)
	}
	if len(body) >= MaxEntry {
		return nil, fmt.Errorf("encode commands: %d bytes; at most %d in one entry", len(body), MaxEntry)
	}
	return append([]byte{commandVersion}, body...), nil
}

// Decode reads one Raft entry, all of it or nothing.
func Decode(entry []byte) ([]Command, error) {
	switch {
	case len(entry) == 0:
		return nil, fmt.Errorf("decode commands: the entry is empty")
	case len(entry) > MaxEntry:
		return nil, fmt.Errorf("decode commands: %d bytes; at most %d in one entry", len(entry), MaxEntry)
	case entry[0] < oldestVersion || entry[0] > commandVersion:
		return nil, fmt.Errorf("decode commands: the entry has version %d; this Ringmaster reads versions %d to %d, use the one that wrote it", entry[0], oldestVersion, commandVersion)
	}
	var raw []cbor.RawMessage
	if err := decoding.Unmarshal(entry[1:], &raw); err != nil {
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
	return batch, proper(batch)
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
		c.RegisterAgent = amend(c.RegisterAgent, func(r *RegisterAgent) []*time.Time { return []*time.Time{&r.Time, &r.Agent.Started} })
	case c.SetAgentState != nil:
		c.SetAgentState = amend(c.SetAgentState, func(r *SetAgentState) []*time.Time { return []*time.Time{&r.Time} })
	case c.RegisterFramework != nil:
		c.RegisterFramework = amend(c.RegisterFramework, func(r *RegisterFramework) []*time.Time { return []*time.Time{&r.Time} })
	case c.DisconnectFramework != nil:
		c.DisconnectFramework = amend(c.DisconnectFramework, func(r *DisconnectFramework) []*time.Time { return []*time.Time{&r.Deadline} })
	case c.RemoveFramework != nil:
		c.RemoveFramework = amend(c.RemoveFramework, func(r *RemoveFramework) []*time.Time { return []*time.Time{&r.Time} })
	case c.Launch != nil:
		c.Launch = amend(c.Launch, func(r *Launch) []*time.Time {
			r.Task.Kill, r.Task.End = nil, nil
			return []*time.Time{&r.Task.Created}
		})
	case c.EndTask != nil:
		c.EndTask = amend(c.EndTask, func(r *EndTask) []*time.Time { return []*time.Time{&r.Status.Started, &r.Status.Time} })
	case c.KillTask != nil:
		c.KillTask = amend(c.KillTask, func(r *KillTask) []*time.Time { return []*time.Time{&r.Order.Time} })
	}
	return c
}

// amend returns a copy of c without the times that can't be written.
func amend[T any](c *T, times func(*T) []*time.Time) *T {
	copied := *c
	for _, t := range times(&copied) {
		if year := t.UTC().Year(); year < 0 || year > 9999 {
			*t = time.Time{}
		}
	}
	return &copied
}
