// Package trie is a persistent sorted map from short texts to records that know
// their own key: a radix tree whose versions share what did not change. It is
// for the records of which there are a million. A record takes about 15 bytes in
// it with its share of the nodes above, where ids count up; what packages state and
// lead had before, a general radix tree that keeps every key and a channel for
// each node to watch it by, took 400.
//
//	      "f00001\0"                  what all keys below go on with
//	     ╱          ╲
//	   "job-"        'x' ─▶ few       few records in the order of their keys, which
//	  ╱  │  ╲                         are asked of them
//	'1' '2' '7' ─▶ few
//
// Records part at a node once they are no longer few. So the many nodes that would
// part two or three are not there.
//
// A key is a [Path], up to three texts. None holds a zero byte, which ends each
// of them in the tree, so that no key is the beginning of another; and all keys
// of one tree have the same number of texts. Whoever enters records sees to
// both.
//
// A [Tree] is immutable and safe for concurrent use. A [Txn] belongs to one
// goroutine; the nodes that it copies are its own until it commits, so the
// changes of one batch share their copies.
//
// # Costs
//
// With keys of k bytes every lookup and change is O(k), in effect the depth of
// the tree, which is the logarithm of its size, and at the end one comparison or,
// where ids draw their letters from few, four; going through m records is O(k + m).
// A change copies the nodes on its way that its transaction does not own yet, and
// the list of few records. There is no other memory: an empty tree is nothing at
// all.
package trie
