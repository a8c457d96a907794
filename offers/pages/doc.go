// Package pages reads bbolt files that may be damaged, which bbolt itself must
// not be let near: a file that was cut short ends the process by a fault of the
// memory map, a page that points to one above it is read for ever, and where
// one of the two meta pages is broken bbolt goes back to the other, one commit
// older, and says nothing.
//
//	meta 0 ┐
//	meta 1 ┴─▶ root bucket ─▶ bucket ─▶ branch ─▶ ... ─▶ leaf: key, value
//
// [Walk] takes nothing on trust: every page must lie in the file, be what the
// one above it says, and be met once; every element must lie in its page; keys
// must ascend. What is in order it hands out, what is not it tells. It finds no
// flipped bit in a value: the owner of the records has a checksum for that. It
// knows two levels, buckets and what is in them, which is all that is used
// here. It starts no goroutine.
//
// The format is bbolt's own, version 2, as package internal/common of
// go.etcd.io/bbolt defines it; the tests hold the two against each other.
package pages
