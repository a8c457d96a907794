package linear

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/ringmaster-project/ringmaster/offers"
)

// storeModel is the part of a framework's store that has one prefix of keys.
// It has the keys that the operations name, each of them a cell.
//
// A write without answer leaves a version that nobody was told. It is pinned
// by who reads it, or by who guesses it in a condition.
func storeModel(keys []string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return make([]cell, len(keys)) },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(*Op)
			if o.Kind == List {
				return lists(state.([]cell), keys, o.Keys), state
			}
			at := slices.Index(keys, o.Key)
			ok, next := state.([]cell)[at].step(o)
			if next == state.([]cell)[at] {
				return ok, state
			}
			changed := slices.Clone(state.([]cell))
			changed[at] = next
			return ok, changed
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]cell), b.([]cell)) },
		Hash: func(state any) uint64 {
			h := fnv.New64a()
			for _, c := range state.([]cell) {
				fmt.Fprintf(h, "%v\n", c)
			}
			return h.Sum64()
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

func describe(input, _ any) string { return input.(*Op).String() }

// cell is one key.
type cell struct {
	there   bool
	value   string
	pinned  bool   // version is known
	version uint64 // 0 unless pinned
	highest uint64 // version that anybody was told, ever
}

// meets reports whether the key has the version that a write wants.
func (c cell) meets(want *uint64) bool {
	switch {
	case want == nil:
		return true
	case *want == 0:
		return !c.there
	default:
		return c.there && c.pinned && c.version == *want
	}
}

// mayMeet reports whether it has it if that was guessed well.
func (c cell) mayMeet(want *uint64) bool {
	return c.there && !c.pinned && want != nil && *want > c.highest
}

// pin gives the cell a version, which must be higher than all before.
func (c cell) pin(version uint64) (bool, cell) {
	ok := version > c.highest
	c.pinned, c.version, c.highest = true, version, version
	return ok, c
}

// step reports whether the operation could come to its answer here, and
// returns the cell after it.
func (c cell) step(o *Op) (bool, cell) {
	switch {
	case o.Kind == Get && o.Version == 0:
		return !c.there, c
	case o.Kind == Get && (!c.there || c.value != o.Value):
		return false, c
	case o.Kind == Get && c.pinned:
		return c.version == o.Version, c
	case o.Kind == Get:
		return c.pin(o.Version)
	case o.Outcome == Refused:
		return o.If != nil && !c.meets(o.If), c
	case c.mayMeet(o.If):
		c.highest = *o.If
	case !c.meets(o.If):
		return o.Outcome == Unknown, c
	}
	if o.Kind == Delete {
		return true, cell{highest: c.highest}
	}
	next := cell{there: true, value: o.Value, highest: c.highest}
	if o.Outcome == Unknown {
		return true, next
	}
	return next.pin(o.Version)
}

// lists reports whether a list finds exactly the keys that are there.
func lists(cells []cell, keys, found []string) bool {
	for i, c := range cells {
		if c.there != slices.Contains(found, keys[i]) {
			return false
		}
	}
	return true
}

// storesOf cuts the history of stores into parts that don't touch each other:
// by framework and by what the keys begin with up to their "/". A list is part
// of the history of every prefix that has keys while it runs: each is told
// what it found there.
func storesOf(ops []*Op) []part {
	parts := map[string]*storePart{}
	var names []string
	for _, o := range ops {
		if o.Kind != Get && o.Kind != Put && o.Kind != Delete || hollow(o) {
			continue
		}
		prefix, _, _ := strings.Cut(o.Key, "/")
		name := string(o.Framework) + " " + prefix
		p := parts[name]
		if p == nil {
			p = &storePart{framework: o.Framework, prefix: prefix + "/", from: o.Call}
			parts[name] = p
			names = append(names, name)
		}
		p.add(o)
	}
	out := make([]part, 0, len(names))
	for _, name := range names {
		p := parts[name]
		for _, o := range ops {
			if p.lists(o) {
				p.ops = append(p.ops, o)
			}
		}
		out = append(out, part{"store", name, storeModel(p.keys), p.ops})
	}
	return out
}

// storePart is what is collected of one prefix.
type storePart struct {
	framework   offers.FrameworkID
	prefix      string
	keys        []string
	from, until int64
	ops         []*Op
}

func (p *storePart) add(o *Op) {
	p.ops = append(p.ops, o)
	if !slices.Contains(p.keys, o.Key) {
		p.keys = append(p.keys, o.Key)
	}
	p.until = max(p.until, o.Call, o.Return)
}

// lists reports whether o is a list that tells of this prefix in its time.
func (p *storePart) lists(o *Op) bool {
	return o.Kind == List && o.Outcome == Done && o.Framework == p.framework &&
		strings.HasPrefix(p.prefix, o.Key) && o.Call <= p.until && o.Return >= p.from
}

// hollow are operations that say nothing: reads without answer, and writes
// that were refused for what they are.
func hollow(o *Op) bool {
	return o.Kind == Get && o.Outcome != Done || o.Outcome == Refused && o.Code != offers.VersionConflict
}
