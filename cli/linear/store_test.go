package linear_test

import (
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

func put(conn int, key, value string, call, ret int64, want *uint64, version uint64) *linear.Op {
	return with(done(conn, linear.Put, call, ret), func(o *linear.Op) {
		o.Key, o.Value, o.If, o.Version = key, value, want, version
	})
}

func lostPut(conn int, key, value string, call int64, want *uint64) *linear.Op {
	return with(unknown(conn, linear.Put, call), func(o *linear.Op) { o.Key, o.Value, o.If = key, value, want })
}

func conflict(conn int, kind linear.Kind, key string, call, ret int64, want *uint64) *linear.Op {
	return with(refused(conn, kind, call, ret, offers.VersionConflict), func(o *linear.Op) { o.Key, o.If = key, want })
}

func get(conn int, key, value string, call, ret int64, version uint64) *linear.Op {
	return with(done(conn, linear.Get, call, ret), func(o *linear.Op) { o.Key, o.Value, o.Version = key, value, version })
}

func remove(conn int, key string, call, ret int64, want *uint64) *linear.Op {
	return with(done(conn, linear.Delete, call, ret), func(o *linear.Op) { o.Key, o.If = key, want })
}

func list(conn int, call, ret int64, keys ...string) *linear.Op {
	return with(done(conn, linear.List, call, ret), func(o *linear.Op) { o.Keys = keys })
}

func version(n uint64) *uint64 { return &n }

func TestStore(t *testing.T) {
	const a, b = "g/a", "g/b"
	bad := []string{"store"}
	try(t, settled(ops(
		good("one after the other", put(1, a, "x", 1, 2, nil, 1), get(1, a, "x", 3, 4, 1), put(1, a, "y", 5, 6, version(1), 2), get(1, a, "y", 7, 8, 2)),
		good("a read beside a write sees either", put(1, a, "x", 1, 2, nil, 1), put(1, a, "y", 3, 10, nil, 2), get(1, a, "x", 4, 5, 1), get(1, a, "y", 6, 7, 2)),
		breaks(bad, "back to the old value", put(1, a, "x", 1, 2, nil, 1), put(1, a, "y", 3, 10, nil, 2), get(1, a, "y", 4, 5, 2), get(1, a, "x", 6, 7, 1)),
		breaks(bad, "a stale read", put(1, a, "x", 1, 2, nil, 1), put(1, a, "y", 3, 4, nil, 2), get(1, a, "x", 5, 6, 1)),
		breaks(bad, "a write is lost", put(1, a, "x", 1, 2, nil, 1), get(1, a, "", 3, 4, 0)),
		breaks(bad, "a value from nowhere", put(1, a, "x", 1, 2, nil, 1), get(1, a, "z", 3, 4, 1)),
		breaks(bad, "an update is lost: both think that they followed version 1",
			put(1, a, "x", 1, 2, nil, 1), put(1, a, "y", 3, 9, version(1), 2), put(1, a, "z", 4, 8, version(1), 3)),
		breaks(bad, "two create it", put(1, a, "x", 1, 9, version(0), 1), put(1, a, "y", 2, 8, version(0), 1)),
		good("one creates it", put(1, a, "x", 1, 9, version(0), 1), conflict(1, linear.Put, a, 2, 8, version(0))),
		breaks(bad, "nobody creates it", conflict(1, linear.Put, a, 1, 9, version(0)), conflict(1, linear.Put, a, 2, 8, version(0))),
		breaks(bad, "a conflict with what is there", put(1, a, "x", 1, 2, nil, 1), conflict(1, linear.Delete, a, 3, 4, version(1))),
		breaks(bad, "a version comes twice", put(1, a, "x", 1, 2, nil, 1), put(1, a, "y", 3, 4, nil, 1)),
		breaks(bad, "a version comes again after a deletion", put(1, a, "x", 1, 2, nil, 1), remove(1, a, 3, 4, version(1)), put(1, a, "y", 5, 6, version(0), 1)),
		good("versions go on after a deletion", put(1, a, "x", 1, 2, nil, 1), remove(1, a, 3, 4, nil), get(1, a, "", 5, 6, 0), put(1, a, "y", 7, 8, version(0), 2)),
		breaks(bad, "a deletion is lost", put(1, a, "x", 1, 2, nil, 1), remove(1, a, 3, 4, nil), get(1, a, "x", 5, 6, 1)),
		good("a deletion of nothing", remove(1, a, 1, 2, nil), remove(1, a, 3, 4, version(0))),

		good("a lost answer, done", lostPut(1, a, "x", 1, nil), get(1, a, "", 2, 3, 0), get(1, a, "x", 4, 5, 1), put(1, a, "y", 6, 7, version(1), 2)),
		good("a lost answer, never done", lostPut(1, a, "x", 1, nil), get(1, a, "", 2, 3, 0), get(1, a, "", 4, 5, 0)),
		good("a lost answer, done late", put(1, a, "w", 1, 2, nil, 1), lostPut(1, a, "x", 3, version(1)), get(1, a, "w", 4, 5, 1), get(1, a, "x", 6, 7, 2)),
		breaks(bad, "done and undone", lostPut(1, a, "x", 1, nil), get(1, a, "x", 2, 3, 1), get(1, a, "", 4, 5, 0)),
		breaks(bad, "done before it was called", get(1, a, "x", 1, 2, 1), lostPut(1, a, "x", 3, nil)),
		breaks(bad, "done twice", lostPut(1, a, "x", 1, version(0)), get(1, a, "x", 2, 3, 1), put(1, a, "y", 4, 5, version(1), 2), get(1, a, "x", 6, 7, 3)),
		breaks(bad, "done against its condition", put(1, a, "w", 1, 2, nil, 1), lostPut(1, a, "x", 3, version(0)), get(1, a, "x", 4, 5, 2)),
		good("one of two lost answers", lostPut(1, a, "x", 1, version(0)), lostPut(1, a, "y", 1, version(0)), get(1, a, "y", 2, 3, 1)),
		breaks(bad, "both of two that exclude each other", lostPut(1, a, "x", 1, version(0)), lostPut(1, a, "y", 1, version(0)), get(1, a, "y", 2, 3, 1), get(1, a, "x", 4, 5, 2)),

		good("a version is guessed", lostPut(1, a, "x", 1, nil), put(1, a, "y", 2, 3, version(1), 2), get(1, a, "y", 4, 5, 2)),
		good("a version is guessed wrong", lostPut(1, a, "x", 1, nil), conflict(1, linear.Put, a, 2, 3, version(1)), get(1, a, "x", 4, 5, 2)),
		breaks(bad, "a version is guessed that is over", put(1, a, "w", 1, 2, nil, 3), lostPut(1, a, "x", 3, nil), get(1, a, "x", 4, 5, 4), put(1, a, "y", 6, 7, version(3), 5)),
		breaks(bad, "a version is guessed and goes back", lostPut(1, a, "x", 1, nil), put(1, a, "y", 2, 3, version(5), 4)),

		good("a list", put(1, a, "x", 1, 2, nil, 1), put(1, b, "x", 3, 10, nil, 1), list(1, 4, 5, a), list(1, 6, 7, a, b)),
		breaks(bad, "a list lacks a key", put(1, a, "x", 1, 2, nil, 1), list(1, 3, 4), get(1, a, "x", 5, 6, 1)),
		breaks(bad, "a list shows what is deleted", put(1, a, "x", 1, 2, nil, 1), remove(1, a, 3, 4, nil), list(1, 5, 6, a), get(1, a, "", 7, 8, 0)),
		breaks(bad, "a list is of two moments", put(1, a, "x", 1, 2, nil, 1), put(1, b, "x", 3, 4, nil, 1), remove(1, a, 5, 6, nil), list(1, 1, 9, b), list(1, 7, 8, a, b), get(1, a, "", 10, 11, 0)),
		good("keys of another prefix", put(1, a, "x", 1, 2, nil, 1), list(1, 3, 4, a, "h/c"), get(1, a, "x", 5, 6, 1)),
		good("another framework's", put(1, a, "x", 1, 2, nil, 1), with(get(2, a, "", 3, 4, 0), func(o *linear.Op) { o.Framework = "other" })),
		good("too large", with(refused(1, linear.Put, 1, 2, offers.TooLarge), func(o *linear.Op) { o.Key = a }), get(1, a, "", 3, 4, 0)),
	)))
}

// settled registers every connection that does not do so in its history
// before that begins.
func settled(hs []history) []history {
	for i := range hs {
		known := map[int]bool{}
		for _, o := range hs[i].ops {
			known[o.Conn] = known[o.Conn] || o.Kind == linear.Register
		}
		for _, o := range slices.Clone(hs[i].ops) {
			if !known[o.Conn] {
				known[o.Conn] = true
				r := done(o.Conn, linear.Register, -9, -8)
				r.Framework = o.Framework
				hs[i].ops = append(hs[i].ops, r)
			}
		}
	}
	return hs
}

func ops(hs ...history) []history { return hs }

func good(name string, list ...*linear.Op) history { return history{name: name, ops: list} }

func breaks(models []string, name string, list ...*linear.Op) history {
	return history{name: name, ops: list, breaks: models}
}
