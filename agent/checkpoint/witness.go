package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// witness is a small file outside the data folder, on a file system that ends
// with the host's run, that says how far the checkpoint has come. It is
// written after a change is durable and before anything is done because of it.
// So a checkpoint that is behind its witness is an older copy, however young,
// and one that is not behind holds all that was ever acted upon. It is not
// synced: where the host restarted there is none, and that is told as well.
//
//	checksum (4)  line (16)  epoch (8)
type witness struct {
	path string
	line line
	file *os.File // nil: there is none, and the next run will have doubts
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line names one checkpoint over all its copies and rewritings.
type line [16]byte

const witnessSize = 4 + len(line{}) + 8

// testimony reads what a witness says; ok is false where it says nothing.
func testimony(path string) (of line, epoch uint64, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return line{}, 0, false
	}
	defer f.Close()
	// The folder may be open to everybody: only what this user wrote counts.
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return line{}, 0, false
	}
	var raw [witnessSize]byte
	if _, err := io.ReadFull(f, raw[:]); err != nil || binary.BigEndian.Uint32(raw[:]) != crc32.Checksum(raw[4:], castagnoli) {
		return line{}, 0, false
	}
	copy(of[:], raw[4:])
	return of, binary.BigEndian.Uint64(raw[4+len(of):]), true
}

// openWitness makes the witness of a line anew. The error says why there will
// be none; the witness that is returned with it keeps silent.
func openWitness(path string, of line, epoch uint64) (*witness, error) {
	w := &witness{path: path, line: of}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return w, err
	}
	w.file = f
	if err = w.say(epoch); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		w.file = nil
		return w, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return w, nil
}

// say notes that the checkpoint has come to epoch. A witness that can't is
// taken away, so that none speaks of less than was done.
func (w *witness) say(epoch uint64) error {
	if w.file == nil {
		return nil
	}
	raw := append(make([]byte, 4, witnessSize), w.line[:]...)
	raw = binary.BigEndian.AppendUint64(raw, epoch)
	binary.BigEndian.PutUint32(raw, crc32.Checksum(raw[4:], castagnoli))
	_, err := w.file.WriteAt(raw, 0)
	if err == nil {
		return nil
	}
	if gone := os.Remove(w.path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return fmt.Errorf("the witness of the checkpoint can't be written: %w", errors.Join(err, gone))
	}
	return nil
}

func (w *witness) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
