package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/offers/pages"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// The buckets of raft.db. Every value is sealed, see [pages.Seal].
//
//	log    index (8)            -> term (8)  type (1)  nanoseconds (8)  length (4)  extensions  data
//	votes  Raft's key           -> its term, and whom this master voted for
//	about  "about"              -> owner, base, first and last index, number of votes: what must be there
const (
	logBucket   = "log"
	votesBucket = "votes"
	aboutBucket = "about"
)

// aboutKey is where a store says whose it is and how far its log reaches, so
// that a missing entry is told from one that was never written.
var aboutKey = []byte("about")

// store is Raft's log and its term and vote in one bbolt file. It is not
// raft-boltdb because that has no checksums: one flipped bit of a committed
// entry and this master would hold another state than the others.
//
// hashicorp/raft-wal (v0.4.0, which needs no cgo) writes faster. On 2 busy cores
// one entry, synced, took this store 0.4 to 1.4 ms with 300 bytes, 0.6 to 1.5 with
// 30 kB and 4.6 to 5.4 with 300 kB; raft-wal 0.1 to 0.7, 0.2 to 0.3 and 1.2 to 1.7;
// raft-boltdb/v2 0.2 to 2.3, 0.9 to 3.9 and 8.4 to 10.6 (two rounds of 300). A turn
// is one entry of some 30 kB, and the next turn does not wait for it, so what is
// to be had is a millisecond of latency; it would take the seals, the witness and
// the examination of damage for a second format, and etcd 3.3 among the
// dependencies.
type store struct {
	db    *bbolt.DB
	owner string // the master's id
	about about  // as it was written last; owned by the transaction that writes

	witness *witness.Witness // of the folder, by the writes
}

// openStore opens the file at path, which was examined before (see examine),
// or makes it.
func openStore(path, owner string, was about) (*store, error) {
	// The free list is rebuilt on opening instead of written with every commit.
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	s := &store{db: db, owner: owner, about: was}
	if err := s.update(func(*tables) error { return nil }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// attest makes the witness of the store's folder, in memory. The error says why
// there is none; an older copy of the folder is not told from the latest then.
func (s *store) attest(memory, folder string) (err error) {
	s.witness, err = witness.Open(memory, folder, lineOf(s.owner), s.about.writes)
	return err
}

func lineOf(owner string) witness.Line {
	sum := sha256.Sum256([]byte(owner))
	return witness.Line(sum[:16])
}

// tables are the buckets within one transaction.
type tables struct{ log, votes, about *bbolt.Bucket }

// update changes the file and brings what it says about itself up to date, in
// one transaction.
func (s *store) update(do func(t *tables) error) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		t := &tables{}
		for name, b := range map[string]**bbolt.Bucket{logBucket: &t.log, votesBucket: &t.votes, aboutBucket: &t.about} {
			var err error
			if *b, err = tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		if err := do(t); err != nil {
			return err
		}
		next := about{owner: s.owner, writes: s.about.writes + 1, base: s.about.base, first: t.first(), last: t.last(), votes: uint64(count(t.votes))}
		if next.first != 0 {
			next.base = next.first - 1
		}
		s.about = next
		return t.about.Put(aboutKey, pages.Seal(aboutBucket, aboutKey, next.encode()))
	})
	if err != nil {
		return err
	}
	return s.witness.Say(s.about.writes)
}

// count is meant for a handful of records.
func count(b *bbolt.Bucket) (n int) {
	c := b.Cursor()
	for key, _ := c.First(); key != nil; key, _ = c.Next() {
		n++
	}
	return n
}

func (t *tables) first() uint64 { key, _ := t.log.Cursor().First(); return number(key) }

// last asks for the first entry first: within the transaction that has deleted
// all of several pages bbolt's Last never returns.
func (t *tables) last() uint64 {
	if t.first() == 0 {
		return 0
	}
	key, _ := t.log.Cursor().Last()
	return number(key)
}

// number returns the index that a key stands for, 0 for none.
func number(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

func numbered(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// about is what a store says about itself.
type about struct {
	owner       string
	base        uint64 // what comes up to it is in a snapshot only
	first, last uint64 // of the log; 0: it is empty
	votes       uint64 // how many records Raft keeps beside the log
	writes      uint64 // so far
}

const aboutHead = 5 * 8

func (a about) encode() []byte {
	out := make([]byte, 0, aboutHead+len(a.owner))
	for _, n := range []uint64{a.base, a.first, a.last, a.votes, a.writes} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	return append(out, a.owner...)
}

func decodeAbout(raw []byte) (about, error) {
	if len(raw) < aboutHead {
		return about{}, pages.ErrDamaged
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(raw[8*i:]) }
	return about{base: n(0), first: n(1), last: n(2), votes: n(3), writes: n(4), owner: string(raw[aboutHead:])}, nil
}

// view reads one bucket.
func (s *store) view(bucket string, do func(b *bbolt.Bucket) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return do(tx.Bucket([]byte(bucket))) })
}

// FirstIndex implements [raft.LogStore].
func (s *store) FirstIndex() (n uint64, err error) {
	err = s.view(logBucket, func(b *bbolt.Bucket) error { n = (&tables{log: b}).first(); return nil })
	return n, err
}

// LastIndex implements [raft.LogStore].
func (s *store) LastIndex() (n uint64, err error) {
	err = s.view(logBucket, func(b *bbolt.Bucket) error { n = (&tables{log: b}).last(); return nil })
	return n, err
}

// GetLog implements [raft.LogStore].
func (s *store) GetLog(index uint64, out *raft.Log) error {
	return s.view(logBucket, func(b *bbolt.Bucket) error {
		key := numbered(index)
		sealed := b.Get(key)
		if sealed == nil {
			return raft.ErrLogNotFound
		}
		raw, err := pages.Unseal(logBucket, key, sealed)
		if err == nil {
			err = decodeLog(index, raw, out)
		}
		if err != nil {
			return fmt.Errorf("log entry %d: %w", index, err)
		}
		return nil
	})
}

// StoreLogs implements [raft.LogStore]. Raft leaves a gap only behind a
// snapshot that it has installed; what is before the gap is of no use then.
func (s *store) StoreLogs(list []*raft.Log) error {
	return s.update(func(t *tables) error {
		t.log.FillPercent = 1 // keys only rise: nothing ever comes between those of a full page
		if last := t.last(); last != 0 && len(list) > 0 && list[0].Index > last+1 {
			if err := t.remove(0, last); err != nil {
				return err
			}
		}
		for _, l := range list {
			key := numbered(l.Index)
			if err := t.log.Put(key, pages.SealBehind(logBucket, key, encodeLog(make([]byte, pages.SealSize), l))); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRange implements [raft.LogStore].
func (s *store) DeleteRange(low, high uint64) error {
	return s.update(func(t *tables) error { return t.remove(low, high) })
}

// remove asks for each entry by its index, for there is no gap: a cursor that looks
// for the next one may come through all pages that were emptied before.
func (t *tables) remove(low, high uint64) error {
	for n, end := max(low, t.first()), min(high, t.last()); 0 < n && n <= end; n++ {
		if err := t.log.Delete(numbered(n)); err != nil {
			return err
		}
	}
	return nil
}

// newest returns how many of the last entries are within that.
func (s *store) newest(most trail) (n uint64, err error) {
	err = s.view(logBucket, func(b *bbolt.Bucket) error {
		c, left := b.Cursor(), most.bytes
		for key, sealed := c.Last(); key != nil && n < most.entries && len(sealed) <= left; key, sealed = c.Prev() {
			left -= len(sealed)
			n++
		}
		return nil
	})
	return n, err
}

// IsMonotonic implements [raft.MonotonicLogStore]: an installed snapshot ends
// the log before it, so that the log never has a gap.
func (*store) IsMonotonic() bool { return true }

// errNotFound has the text that Raft looks for.
var errNotFound = errors.New("not found")

// Get implements [raft.StableStore].
func (s *store) Get(key []byte) (value []byte, err error) {
	err = s.view(votesBucket, func(b *bbolt.Bucket) error {
		sealed := b.Get(key)
		if sealed == nil {
			return errNotFound
		}
		raw, err := pages.Unseal(votesBucket, key, sealed)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		value = append([]byte{}, raw...)
		return nil
	})
	return value, err
}

// Set implements [raft.StableStore].
func (s *store) Set(key, value []byte) error {
	return s.update(func(t *tables) error { return t.votes.Put(key, pages.Seal(votesBucket, key, value)) })
}

// GetUint64 implements [raft.StableStore].
func (s *store) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err == nil && len(value) != 8 {
		err = fmt.Errorf("%s: %w", key, pages.ErrDamaged)
	}
	return number(value), err
}

// SetUint64 implements [raft.StableStore].
func (s *store) SetUint64(key []byte, value uint64) error { return s.Set(key, numbered(value)) }

// Close closes the file.
func (s *store) Close() error { return errors.Join(s.db.Close(), s.witness.Close()) }

const logHead = 8 + 1 + 8 + 4

// encodeLog appends an entry.
func encodeLog(out []byte, l *raft.Log) []byte {
	out = slices.Grow(out, logHead+len(l.Extensions)+len(l.Data))
	out = binary.BigEndian.AppendUint64(out, l.Term)
	out = append(out, byte(l.Type))
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	out = binary.BigEndian.AppendUint64(out, uint64(at))
	out = binary.BigEndian.AppendUint32(out, uint32(len(l.Extensions)))
	return append(append(out, l.Extensions...), l.Data...)
}

// decodeLog copies: Raft keeps what bbolt takes back.
func decodeLog(index uint64, raw []byte, out *raft.Log) error {
	if len(raw) < logHead {
		return pages.ErrDamaged
	}
	rest := append([]byte{}, raw[logHead:]...)
	n := binary.BigEndian.Uint32(raw[17:])
	if uint64(n) > uint64(len(rest)) {
		return pages.ErrDamaged
	}
	*out = raft.Log{Index: index, Term: binary.BigEndian.Uint64(raw), Type: raft.LogType(raw[8]), Data: rest[n:]}
	if n > 0 {
		out.Extensions = rest[:n:n]
	}
	if at := int64(binary.BigEndian.Uint64(raw[9:])); at != 0 {
		out.AppendedAt = time.Unix(0, at)
	}
	return nil
}
