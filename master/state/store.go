package state

import (
	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/offers"
)

func (tx *tx) put(c *Put) Result {
	entries, old, err := tx.entry(c.Framework, c.Key, c.Version)
	if err != nil {
		return Result{Err: err}
	}
	if old.Version == 0 && entries.Len() >= MaxKeys {
		return refuse(offers.TooLarge, "the store of framework %s has %d keys, the most there can be; delete some", c.Framework, MaxKeys)
	}
	e := Entry{Value: c.Value, Version: old.Version + 1}
	entries, _, _ = entries.Insert([]byte(c.Key), e)
	tx.stores.Insert([]byte(c.Framework), entries)
	return Result{Value: e.Version}
}

func (tx *tx) delete(c *Delete) Result {
	entries, _, err := tx.entry(c.Framework, c.Key, c.Version)
	if err != nil {
		return Result{Err: err}
	}
	entries, _, _ = entries.Delete([]byte(c.Key))
	if entries.Len() == 0 {
		tx.stores.Delete([]byte(c.Framework))
	} else {
		tx.stores.Insert([]byte(c.Framework), entries)
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
	entries, ok := tx.stores.Get([]byte(id))
	if !ok {
		entries = iradix.New[Entry]()
	}
	old, _ := entries.Get([]byte(key))
	if version != nil && *version != old.Version {
		return nil, Entry{}, offers.Errorf(offers.VersionConflict, "key %.60q has version %d, not %d", key, old.Version, *version)
	}
	return entries, old, nil
}
