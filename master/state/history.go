package state

import (
	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// forget drops what passes the bounds of the histories, the oldest end first.
// It runs after every command and not after every batch: how commands are cut
// into batches must not show.
func (tx *tx) forget() {
	for tx.history.n > MaxHistory {
		ref := tx.history.oldest()
		tx.tasks.Delete(pathOf(ref))
	}
	for tx.gone.n > MaxGoneAgents {
		tx.agents.Delete(agentPath(tx.gone.oldest()))
	}
	for tx.removed.n > MaxRemovedFrameworks {
		tx.frameworks.Delete([]byte(tx.removed.oldest()))
	}
}

// past is a bounded history under change: what ended, by its number.
type past[T any] struct {
	txn *iradix.Txn[T]
	n   int // a transaction does not tell
}

func recall[T any](tree *iradix.Tree[T]) past[T] { return past[T]{txn: tree.Txn(), n: tree.Len()} }

func (p *past[T]) add(ended uint64, v T) {
	if _, there := p.txn.Insert(sequenceKey(ended), v); !there {
		p.n++
	}
}

func (p *past[T]) remove(ended uint64) {
	if _, there := p.txn.Delete(sequenceKey(ended)); there {
		p.n--
	}
}

// oldest takes the oldest out; the history must not be empty.
func (p *past[T]) oldest() T {
	key, v, _ := p.txn.Root().Minimum()
	p.txn.Delete(key)
	p.n--
	return v
}
