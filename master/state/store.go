package state

import (
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/offers"
)

// store is the store of one framework. It is immutable like all records.
//
// The next version of any key is above its own and above floor, which is the
// highest version that was deleted. So no key ever has a version twice, not
// even across a deletion: whoever read an earlier one and writes on that
// condition is refused. The alternative, a tombstone for every deleted key,
// would never get smaller.
type store struct {
	keys  *iradix.Tree[Entry]
	bytes int // of keys and values
	floor uint64
}

var emptyStore = &store{keys: iradix.New[Entry]()}

// weight is what an entry counts for in [MaxStoreBytes].
func weight(key string, e Entry) int { return len(key) + len(e.Value) }

// with returns the store with e in the place of old.
func (s *store) with(key string, old, e Entry) *store {
	next := &store{bytes: s.bytes + weight(key, e), floor: s.floor}
	var known bool
	if next.keys, _, known = s.keys.Insert([]byte(key), e); known {
		next.bytes -= weight(key, old)
	}
	return next
}

// without returns the store without a key that it has.
func (s *store) without(key string, old Entry) *store {
	next := &store{bytes: s.bytes - weight(key, old), floor: max(s.floor, old.Version)}
	next.keys, _, _ = s.keys.Delete([]byte(key))
	return next
}

// highest returns a version that none was above, ever.
func (s *store) highest() uint64 {
	top := s.floor
	for _, e := range entries(s.keys) {
		top = max(top, e.Version)
	}
	return top
}

func (tx *tx) put(c *Put) Result {
	st, old, err := tx.entry(c.Framework, c.Key, c.Version)
	if err != nil {
		return Result{Err: err}
	}
	if old.Version == 0 && st.keys.Len() >= MaxKeys {
		return refuse(offers.TooLarge, "the store of framework %s has %d keys, the most there can be; delete some", c.Framework, MaxKeys)
	}
	e := Entry{Value: c.Value, Version: max(old.Version, st.floor) + 1}
	next := st.with(c.Key, old, e)
	if next.bytes > MaxStoreBytes && next.bytes > st.bytes {
		return refuse(offers.TooLarge, "the store of framework %s has %d bytes and would have %d; at most %d, delete some", c.Framework, st.bytes, next.bytes, MaxStoreBytes)
	}
	tx.stores.Insert([]byte(c.Framework), next)
	tx.stored += next.bytes - st.bytes
	return Result{Value: e.Version}
}

func (tx *tx) delete(c *Delete) Result {
	st, old, err := tx.entry(c.Framework, c.Key, c.Version)
	if err != nil {
		return Result{Err: err}
	}
	if old.Version > 0 {
		tx.stores.Insert([]byte(c.Framework), st.without(c.Key, old))
		tx.stored -= weight(c.Key, old)
	}
	return Result{Value: uint64(0)}
}

// entry returns the store of a framework (an empty one where it has none) and
// what it has under key, once the condition on the version holds.
func (tx *tx) entry(id offers.FrameworkID, key string, version *uint64) (*store, Entry, *offers.Error) {
	if _, err := tx.framework(id); err != nil {
		return nil, Entry{}, err
	}
	if key == "" {
		return nil, Entry{}, offers.Errorf(offers.BadMessage, "key is empty")
	}
	if len(key) > MaxKeyLength {
		return nil, Entry{}, offers.Errorf(offers.TooLarge, "key has %d bytes; at most %d", len(key), MaxKeyLength)
	}
	st := tx.storeOf(id)
	old, _ := st.keys.Get([]byte(key))
	if version != nil && *version != old.Version {
		return nil, Entry{}, offers.Errorf(offers.VersionConflict, "key %.60q has version %d, not %d", key, old.Version, *version)
	}
	return st, old, nil
}

func (tx *tx) storeOf(id offers.FrameworkID) *store {
	if st, ok := tx.stores.Get([]byte(id)); ok {
		return st
	}
	return emptyStore
}

// WithoutStores returns s without what the frameworks store, for those who keep a
// state for long and don't read that: the values are most of what changes weighs.
func (s *State) WithoutStores() *State {
	bare := *s
	bare.stores, bare.stored = iradix.New[*store](), 0
	return &bare
}

// Stored returns the bytes of all keys and values of all frameworks.
func (s *State) Stored() int { return s.stored }

// Entry returns one value of a framework's store; its Version is 0 when the
// key is missing.
func (s *State) Entry(id offers.FrameworkID, key string) Entry {
	st, ok := s.stores.Get([]byte(id))
	if !ok {
		return Entry{}
	}
	e, _ := st.keys.Get([]byte(key))
	return e
}

// Keys yields the keys of a framework's store that begin with prefix, sorted.
func (s *State) Keys(id offers.FrameworkID, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		st, ok := s.stores.Get([]byte(id))
		if !ok {
			return
		}
		it := st.keys.Root().Iterator()
		it.SeekPrefix([]byte(prefix))
		for {
			key, _, ok := it.Next()
			if !ok || !yield(string(key)) {
				return
			}
		}
	}
}
