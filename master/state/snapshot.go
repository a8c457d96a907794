package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"github.com/ringmaster-project/ringmaster/offers"
)

// A snapshot is a stream of records in the order of their keys, so that equal
// states have equal snapshots:
//
//	"ringmaster state" version
//	kind length payload      the header, then one for each record
//	...
//	end  count  SHA-256      count of the records, sum over all bytes before it
//
// kind and version are one byte, length and count are unsigned varints, a
// payload is one CBOR value, or since version 2 many tasks, see readTasks. Indices are
// not written; they are built again.
const (
	snapshotMagic   = "ringmaster state"
	snapshotVersion = 2
	oldestSnapshot  = 1            // that is read
	maxRecord       = 4 * MaxEntry // a task holds parts of several commands
)

type recordKind byte

const (
	recordEnd recordKind = iota
	recordHeader
	recordAgent
	recordFramework
	recordRole
	recordTask
	recordEntry
	recordStore
	recordTasks
)

func (k recordKind) String() string {
	names := [...]string{"end", "header", "agent", "framework", "role", "task", "entry", "store", "tasks"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

type (
	header struct {
		Cluster  string
		Counters counters
	}
	roleRecord struct {
		Role     offers.Role
		Settings offers.RoleSettings
	}
	entryRecord struct {
		Framework offers.FrameworkID
		Key       string
		Entry     Entry
	}
	// storeRecord is left out where nothing was deleted: the entries say all.
	storeRecord struct {
		Framework offers.FrameworkID
		Floor     uint64
	}
)

// WriteTo writes a snapshot, one record at a time. It reads the state like any
// reader and stops nobody. The count is of the bytes that w took.
func (s *State) WriteTo(w io.Writer) (int64, error) {
	out := newSnapshotWriter(w)
	out.write([]byte(snapshotMagic))
	out.write([]byte{snapshotVersion})
	out.record(recordHeader, &header{s.cluster, s.counters})
	for a := range s.Agents() {
		out.record(recordAgent, a)
	}
	for f := range s.Frameworks() {
		out.record(recordFramework, f)
	}
	for role, settings := range s.Roles() {
		out.record(recordRole, &roleRecord{role, settings})
	}
	out.tasks(s)
	for id, st := range entries(s.stores) {
		if st.floor > 0 {
			out.record(recordStore, &storeRecord{offers.FrameworkID(id), st.floor})
		}
		for key, e := range entries(st.keys) {
			out.record(recordEntry, &entryRecord{offers.FrameworkID(id), key, e})
		}
	}
	out.finish()
	return out.taken.n, out.err
}

var _ io.WriterTo = (*State)(nil)

// snapshotWriter keeps the first error and writes nothing after it.
type snapshotWriter struct {
	taken  *countingWriter
	out    *bufio.Writer
	sum    hash.Hash
	buf    bytes.Buffer // of one record
	count  uint64
	prefix [1 + binary.MaxVarintLen64]byte
	err    error
}

func newSnapshotWriter(w io.Writer) *snapshotWriter {
	taken := &countingWriter{w: w}
	return &snapshotWriter{taken: taken, out: bufio.NewWriterSize(taken, 1<<16), sum: sha256.New()}
}

func (s *snapshotWriter) write(p []byte) {
	if s.err != nil {
		return
	}
	s.sum.Write(p)
	if _, err := s.out.Write(p); err != nil {
		s.err = fmt.Errorf("write snapshot: %w", err)
	}
}

func (s *snapshotWriter) head(kind recordKind, n uint64) {
	s.prefix[0] = byte(kind)
	s.write(s.prefix[:1+binary.PutUvarint(s.prefix[1:], n)])
}

func (s *snapshotWriter) record(kind recordKind, v any) {
	if s.err != nil {
		return
	}
	s.buf.Reset()
	if err := encoding.MarshalToBuffer(v, &s.buf); err != nil {
		s.err = fmt.Errorf("write snapshot: %s: %w", kind, err)
		return
	}
	s.put(kind, s.buf.Bytes())
}

func (s *snapshotWriter) put(kind recordKind, payload []byte) {
	if len(payload) > maxRecord {
		s.err = fmt.Errorf("write snapshot: a record of kind %s has %d bytes; at most %d", kind, len(payload), maxRecord)
		return
	}
	s.head(kind, uint64(len(payload)))
	s.write(payload)
	s.count++
}

// tasks writes all tasks: those that are plain many to a record.
func (s *snapshotWriter) tasks(of *State) {
	var w compactWriter
	var records [2]TaskRecord // one is written like the other
	n := 0
	end := func() {
		if n > 0 {
			s.put(recordTasks, w.out)
		}
		w, n = compactWriter{out: w.out[:0]}, 0
	}
	for t := range of.Tasks() {
		task := &records[n%2]
		if *task = t.record(); !plain(task) {
			end()
			s.record(recordTask, task)
			continue
		}
		w.task(task)
		if n++; n == mostTasks || len(w.out) >= mostBytes {
			end()
		}
	}
	end()
}

func (s *snapshotWriter) finish() {
	s.head(recordEnd, s.count)
	s.write(s.sum.Sum(nil))
	if s.err != nil {
		return
	}
	if err := s.out.Flush(); err != nil {
		s.err = fmt.Errorf("write snapshot: %w", err)
	}
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
