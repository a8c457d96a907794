package replica

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

// currentTerm is Raft's key for its term.
const currentTerm = "CurrentTerm"

// disk is where Raft writes its log, its term and its vote. After a failed
// write nobody knows what is there (bbolt may hold what it reported as not
// written), so the first failure is the last write: everything after it is
// refused, failed tells it, and the daemon ends.
type disk struct {
	*store
	path   string
	failed chan struct{} // closed at the first failure
	keeps  trail

	mu  sync.Mutex // held while writing; bbolt lets one write at a time anyway
	err error      // of the first failure
}

var (
	_ raft.LogStore          = (*disk)(nil)
	_ raft.MonotonicLogStore = (*disk)(nil)
	_ raft.StableStore       = (*disk)(nil)
)

func newDisk(s *store, path string) *disk {
	return &disk{store: s, path: path, failed: make(chan struct{}), keeps: trail{trailingLogs, trailingBytes}}
}

func (d *disk) write(do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	if err := do(); err != nil {
		d.err = fmt.Errorf("data_dir: what the masters agree on can't be kept in %s (%w): this master ends; make room or mend the disk, and start it again", d.path, err)
		close(d.failed)
	}
	return d.err
}

// failure returns why nothing is written any more, nil while all is well.
func (d *disk) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// GetLog implements [raft.LogStore]. An entry that has changed since the store
// was examined ends the master like a failed write.
func (d *disk) GetLog(index uint64, out *raft.Log) error {
	err := d.store.GetLog(index, out)
	if errors.Is(err, pages.ErrDamaged) {
		return d.write(func() error { return err })
	}
	return err
}

// StoreLog implements [raft.LogStore].
func (d *disk) StoreLog(l *raft.Log) error {
	return d.write(func() error { return d.store.StoreLogs([]*raft.Log{l}) })
}

// StoreLogs implements [raft.LogStore].
func (d *disk) StoreLogs(ls []*raft.Log) error {
	return d.write(func() error { return d.store.StoreLogs(ls) })
}

// slice is how many entries are deleted in one go, some milliseconds' worth.
const slice = 512

// trail is how much of the log stays behind a snapshot.
type trail struct {
	entries uint64
	bytes   int // of them together
}

// DeleteRange implements [raft.LogStore]. What comes before a snapshot goes in
// slices: entries that are to be written meanwhile, and so launches, wait for
// one slice and not for all. A log that lost only some of its first entries is
// as good after a crash; any other range goes as a whole, since half of it would
// leave a gap. Of a beginning keeps stays: Raft knows to leave so many entries, and
// not what they weigh.
func (d *disk) DeleteRange(low, high uint64) error {
	if last, err := d.LastIndex(); err == nil && high < last {
		kept, err := d.newest(d.keeps)
		if err != nil {
			return err
		}
		if high = min(high, last-kept); high < low {
			return nil
		}
		for ; high-low >= slice; low += slice {
			if err := d.write(func() error { return d.store.DeleteRange(low, low+slice-1) }); err != nil {
				return err
			}
		}
	}
	return d.write(func() error { return d.store.DeleteRange(low, high) })
}

// Set implements [raft.StableStore].
func (d *disk) Set(key, value []byte) error {
	return d.write(func() error { return d.store.Set(key, value) })
}

// SetUint64 implements [raft.StableStore]. Raft panics where it can't write its
// term, which would end the process in a trace instead of a sentence, so that
// one failure is kept from it. A term promises nothing by itself: the vote and
// the entries that would be promised in it are refused.
func (d *disk) SetUint64(key []byte, value uint64) error {
	err := d.write(func() error { return d.store.SetUint64(key, value) })
	if string(key) == currentTerm {
		return nil
	}
	return err
}

// Failed is closed when this master can't write to its disk any more. It is of
// no use then: Close it, and let Failure tell why.
func (r *Replica) Failed() <-chan struct{} { return r.store.failed }

// Failure returns why Failed is closed.
func (r *Replica) Failure() error { return r.store.failure() }
