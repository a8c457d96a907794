package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Read builds a state from a snapshot, which must end where r ends. It refuses
// what is cut short, damaged, incoherent or of a newer version, and then
// returns no state at all.
func Read(r io.Reader) (*State, error) {
	in := &snapshotReader{in: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	if err := in.version(); err != nil {
		return nil, err
	}
	tx := begin(New())
	busy := map[offers.FrameworkID]int{} // living tasks
	var odd error                        // of the first record that makes no sense; only the checksum tells whether it is damaged or newer
	for {
		kind, n, err := in.head()
		if err != nil {
			return nil, err
		}
		if kind == recordEnd {
			if err := in.finish(n); err != nil {
				return nil, err
			}
			break
		}
		payload, err := in.payload(n)
		if err != nil {
			return nil, err
		}
		if odd == nil {
			odd = tx.take(in.count, kind, payload, busy)
		}
		in.count++
	}
	if odd != nil {
		return nil, odd
	}
	for id, n := range busy {
		tx.busy.Insert([]byte(id), n)
	}
	s := tx.commit()
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("read snapshot: it was written whole but its records contradict each other: %w", err)
	}
	return s, nil
}

// take enters one record in its place, and counts the living tasks of frameworks.
func (tx *tx) take(n uint64, kind recordKind, payload []byte, busy map[offers.FrameworkID]int) error {
	if (kind == recordHeader) != (n == 0) {
		return fmt.Errorf("read snapshot: record %d is of kind %s; the header comes first and once", n, kind)
	}
	if err := tx.restore(kind, payload, busy); err != nil {
		return fmt.Errorf("read snapshot: it was written whole, but this Ringmaster can't read its record %d, %s (%w): use the version that wrote it, or a newer one", n, kind, err)
	}
	return nil
}

// snapshotReader sums what it reads.
type snapshotReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	buf   bytes.Buffer
	count uint64
}

func (s *snapshotReader) version() error {
	start := make([]byte, len(snapshotMagic)+1)
	if _, err := io.ReadFull(s.in, start); err != nil {
		return short(err)
	}
	if string(start[:len(snapshotMagic)]) != snapshotMagic {
		return errors.New("read snapshot: this is not a snapshot of Ringmaster's state")
	}
	if v := start[len(snapshotMagic)]; v < oldestSnapshot || v > snapshotVersion {
		return fmt.Errorf("read snapshot: it has format %d and this Ringmaster reads formats %d to %d; use the version that wrote it, or a newer one", v, oldestSnapshot, snapshotVersion)
	}
	s.sum.Write(start)
	return nil
}

func (s *snapshotReader) head() (recordKind, uint64, error) {
	kind, err := s.in.ReadByte()
	if err != nil {
		return 0, 0, short(err)
	}
	n, err := binary.ReadUvarint(s.in)
	if err != nil {
		return 0, 0, short(err)
	}
	s.sum.Write(binary.AppendUvarint([]byte{kind}, n))
	return recordKind(kind), n, nil
}

// payload returns the next n bytes, good until the next call. Memory grows
// with what really arrives, not with what a damaged length claims.
func (s *snapshotReader) payload(n uint64) ([]byte, error) {
	if n > maxRecord {
		return nil, fmt.Errorf("read snapshot: a record claims %d bytes, at most %d are possible: it is damaged", n, maxRecord)
	}
	s.buf.Reset()
	if _, err := io.CopyN(&s.buf, s.in, int64(n)); err != nil {
		return nil, short(err)
	}
	s.sum.Write(s.buf.Bytes())
	return s.buf.Bytes(), nil
}

func (s *snapshotReader) finish(count uint64) error {
	want := s.sum.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.in, got); err != nil {
		return short(err)
	}
	if count != s.count || s.count == 0 {
		return fmt.Errorf("read snapshot: it has %d records and says %d: it is damaged", s.count, count)
	}
	if !bytes.Equal(got, want) {
		return errors.New("read snapshot: the checksum does not match: it is damaged")
	}
	if _, err := s.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return fmt.Errorf("read snapshot: %w", err)
		}
		return errors.New("read snapshot: something follows its end: it is damaged")
	}
	return nil
}

func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("read snapshot: it is cut short")
	}
	return fmt.Errorf("read snapshot: %w", err)
}

// restore enters one record and its indices.
func (tx *tx) restore(kind recordKind, payload []byte, busy map[offers.FrameworkID]int) error {
	switch kind {
	case recordHeader:
		var h header
		err := decoding.Unmarshal(payload, &h)
		tx.cluster, tx.counters = h.Cluster, h.Counters
		return err
	case recordAgent:
		a := new(Agent)
		if err := decoding.Unmarshal(payload, a); err != nil {
			return err
		}
		return tx.restoreAgent(a)
	case recordFramework:
		f := new(Framework)
		if err := decoding.Unmarshal(payload, f); err != nil {
			return err
		}
		if f.Ended > 0 {
			tx.removed.add(f.Ended, f.ID)
		}
		return enter(tx.frameworks, []byte(f.ID), f)
	case recordRole:
		r := new(roleRecord)
		if err := decoding.Unmarshal(payload, r); err != nil {
			return err
		}
		return enter(tx.roles, []byte(r.Role), &r.Settings)
	case recordTask:
		var r struct {
			TaskRecord
			Past offers.UpdateID // what told launches of one id apart before they had names
		}
		if err := decoding.Unmarshal(payload, &r); err != nil {
			return err
		}
		return tx.restoreTask(&r.TaskRecord, busy)
	case recordTasks:
		return readTasks(payload, func(r *TaskRecord) error { return tx.restoreTask(r, busy) })
	case recordEntry:
		var e entryRecord
		if err := decoding.Unmarshal(payload, &e); err != nil {
			return err
		}
		return tx.restoreEntry(e)
	case recordStore:
		var st storeRecord
		if err := decoding.Unmarshal(payload, &st); err != nil {
			return err
		}
		return enter(tx.stores, []byte(st.Framework), &store{keys: emptyStore.keys, floor: st.Floor})
	}
	return errors.New("the kind is unknown")
}

func (tx *tx) restoreAgent(a *Agent) error {
	for _, text := range []string{string(a.ID), a.Name} {
		if text == "" || strings.IndexByte(text, 0) >= 0 { // it can't be a part of a key
			return fmt.Errorf("%.60q is neither the id nor the name of an agent", text)
		}
	}
	if a.Ended > 0 {
		tx.gone.add(a.Ended, a.ID)
	} else if tx.named.Put(a) != nil {
		return errTwice
	}
	if tx.agents.Put(a) != nil {
		return errTwice
	}
	return nil
}

func (tx *tx) restoreTask(r *TaskRecord, busy map[offers.FrameworkID]int) error {
	for _, id := range []string{string(r.Framework), string(r.Agent), string(r.Spec.ID)} {
		if id == "" || strings.IndexByte(id, 0) >= 0 { // it can't be a part of a key
			return fmt.Errorf("%.60q is no id", id)
		}
	}
	t := tx.task(r)
	switch {
	case t.End == nil:
		tx.living.Put(t)
		busy[t.Framework]++
	case t.Acknowledged:
		tx.history.add(t.Ended, t.Ref())
	default:
		tx.unacked.Put(t)
	}
	if tx.tasks.Put(t) != nil {
		return errTwice
	}
	return nil
}

func (tx *tx) restoreEntry(e entryRecord) error {
	st := tx.storeOf(e.Framework)
	if _, twice := st.keys.Get([]byte(e.Key)); twice {
		return errTwice
	}
	tx.stores.Insert([]byte(e.Framework), st.with(e.Key, Entry{}, e.Entry))
	tx.stored += weight(e.Key, e.Entry)
	return nil
}

var errTwice = errors.New("it is there twice")

func enter[T any](tree *iradix.Txn[T], key []byte, v T) error {
	if _, twice := tree.Insert(key, v); twice {
		return errTwice
	}
	return nil
}
