package replica

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// A saved snapshot comes back as one entry of the log, so a restore is
// committed or not like everything else, in its place among the rest, and no
// master can have it while a majority does not. Raft's own way (raft.Restore)
// lets the leader go ahead of the others and parts the masters when it dies
// just then. The price is that the snapshot must fit into one entry, packed.
//
//	term (8)  restoreMark  nanoseconds (8)  gzip of the snapshot
//
// No batch of commands begins with the mark: their first byte is a version.
const (
	restoreMark = 0xff
	restoreHead = 1 + 8
	maxRestore  = 64 << 20 // bytes, packed
)

// Restore replaces the replicated state by what s becomes, see
// [state.State.Replacing]; on the leader only, and meant for term like Apply.
// After it the term is another one, so whatever was based on the state before
// changes nothing.
func (r *Replica) Restore(term uint64, s *state.State) error {
	data, err := encodeRestore(term, s, time.Now())
	if err != nil {
		return err
	}
	f := &Future{gate: &r.gate}
	if err := r.gate.propose(f, func() { f.raft = r.raft.Apply(data, 0) }); err != nil {
		return err
	}
	if _, err := f.Wait(); err != nil {
		return err
	}
	r.logger.Info("the state was restored from a snapshot", "cluster", s.ClusterID(), "term", r.Term())
	return nil
}

func encodeRestore(term uint64, s *state.State, now time.Time) ([]byte, error) {
	var out bytes.Buffer
	out.Write(binary.BigEndian.AppendUint64(nil, term))
	out.WriteByte(restoreMark)
	out.Write(binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano())))
	packed, err := gzip.NewWriterLevel(&limited{&out, maxRestore}, gzip.BestSpeed)
	if err == nil {
		_, err = s.WriteTo(packed)
	}
	if err == nil {
		err = packed.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("pack the snapshot: %w", err)
	}
	return out.Bytes(), nil
}

// limited refuses what does not fit into an entry.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, offers.Errorf(offers.TooLarge, "the snapshot has more than %d bytes when it is packed, which is more than the masters can agree on at once", maxRestore)
	}
	return l.w.Write(p)
}

// applyRestore is [fsm.Apply] for the entry of a restore, from the mark on.
func (f *fsm) applyRestore(index, term uint64, body []byte) any {
	if len(body) < restoreHead {
		f.unreadable(index, errors.New("it is cut short"))
	}
	now := time.Unix(0, int64(binary.BigEndian.Uint64(body[1:restoreHead]))).UTC()
	unpacked, err := gzip.NewReader(bytes.NewReader(body[restoreHead:]))
	if err != nil {
		f.unreadable(index, err)
	}
	s, err := state.Read(bufio.NewReaderSize(unpacked, 256<<10))
	if err != nil {
		f.unreadable(index, err)
	}
	restored := s.Replacing(f.current.Load(), term, now)
	f.current.Store(restored)
	f.watcher.Restored(restored, now)
	return outcome{}
}
