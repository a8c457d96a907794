package events

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// ID names an event, and the place in the order right after it. The zero ID
// names none.
type ID struct {
	Epoch   uint32 // see EpochOf
	Command uint64 // from 1, as State.Applied counts
	N       uint32 // of the events of one command, from 0

	// Of a soft event: the leadership that saw it, as Buffer.Lead has it, and its
	// number therein, from 1. Epoch, Command and N are those of the durable event before it.
	Run  string
	Soft uint64
}

// EpochOf names the history that a state belongs to: that of its cluster since
// its state was last restored. Ids of two histories have no order.
func EpochOf(s *state.State) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", s.ClusterID(), s.Terms())
	return h.Sum32()
}

// String writes the form that ParseID reads; it is opaque to clients.
func (id ID) String() string {
	text := fmt.Sprintf("%08x.%d.%d", id.Epoch, id.Command, id.N)
	if id.Soft > 0 {
		text += "." + id.Run + "." + strconv.FormatUint(id.Soft, 10)
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// ParseID reads what String wrote.
func ParseID(text string) (ID, error) {
	refused := offers.Errorf(offers.BadMessage, "%.80q is no id of an event", text)
	parts := strings.Split(text, ".")
	if len(parts) != 3 && len(parts) != 5 || len(text) > 120 || len(parts[0]) != 8 {
		return ID{}, refused
	}
	epoch, err1 := strconv.ParseUint(parts[0], 16, 32)
	command, err2 := strconv.ParseUint(parts[1], 10, 64)
	n, err3 := strconv.ParseUint(parts[2], 10, 32)
	id := ID{Epoch: uint32(epoch), Command: command, N: uint32(n)}
	var err4 error
	if len(parts) == 5 {
		if id.Run = parts[3]; strings.Trim(id.Run, "0123456789-") != "" {
			return ID{}, refused
		}
		id.Soft, err4 = strconv.ParseUint(parts[4], 10, 64)
	}
	if cmp.Or(err1, err2, err3, err4) != nil || id.String() != text {
		return ID{}, refused
	}
	return id, nil
}

// durable compares the durable parts of two ids of one epoch.
func (id ID) durable(other ID) int {
	return cmp.Or(cmp.Compare(id.Command, other.Command), cmp.Compare(id.N, other.N))
}

// after reports whether an id is of a soft event that came after the other, of
// the same durable event.
func (id ID) after(other ID) bool {
	run := compareRuns(id.Run, other.Run)
	return id.Soft > 0 && (run > 0 || run == 0 && id.Soft > other.Soft)
}

// compareRuns tells which of two leaderships began first: they are named by a
// term, and by which one in it they are.
func compareRuns(a, b string) int {
	termA, nA, _ := strings.Cut(a, "-")
	termB, nB, _ := strings.Cut(b, "-")
	return cmp.Or(compareNumbers(termA, termB), compareNumbers(nA, nB))
}

// compareNumbers compares numbers without leading zeros, of any length, since
// clients may send anything.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Covers reports whether whoever has had the events up to this id has had the
// durable one of the other id.
func (id ID) Covers(other ID) bool {
	return id.Epoch == other.Epoch && other.Soft == 0 && other.durable(id) <= 0
}
