package witness

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Memory is where witnesses lie unless another place is configured.
const Memory = "/dev/shm"

// Line names one history of a folder, over all its copies.
type Line [16]byte

// NewLine returns a line that nobody has.
func NewLine() (l Line) {
	_, _ = rand.Read(l[:]) // never fails
	return l
}

// Witness is what tells how far a folder has come. The zero value keeps silent,
// so that the next run knows nothing.
type Witness struct {
	path   string
	line   Line
	folder string
	file   *os.File // nil: it keeps silent
}

// The file:
//
//	checksum (4)  line (16)  epoch (8)  folder
const (
	head   = 4 + len(Line{}) + 8
	prefix = "ringmaster-"
	most   = head + 4096 // bytes of one
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Path returns where the witness of a folder lies, in dir.
func Path(dir, folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(dir, prefix+hex.EncodeToString(sum[:8]))
}

// Read returns what the witness of a folder says; ok is false where it says
// nothing.
func Read(dir, folder string) (of Line, epoch uint64, ok bool) {
	of, epoch, about, ok := read(Path(dir, folder))
	return of, epoch, ok && about == folder
}

func read(path string) (of Line, epoch uint64, folder string, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Line{}, 0, "", false
	}
	defer f.Close()
	// The place may be open to everybody: only what this user wrote counts.
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return Line{}, 0, "", false
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(most)))
	if err != nil || len(raw) < head || binary.BigEndian.Uint32(raw) != crc32.Checksum(raw[4:], castagnoli) {
		return Line{}, 0, "", false
	}
	copy(of[:], raw[4:])
	return of, binary.BigEndian.Uint64(raw[4+len(of):]), string(raw[head:]), true
}

// Open makes the witness of a folder anew, and takes those of folders away that
// are no more. The error says why there will be none; what is returned with it
// keeps silent.
func Open(dir, folder string, of Line, epoch uint64) (*Witness, error) {
	sweep(dir)
	w := &Witness{path: Path(dir, folder), line: of, folder: folder}
	f, err := os.CreateTemp(dir, prefix+"new-*")
	if err != nil {
		return w, err
	}
	w.file = f
	if err = w.Say(epoch); err == nil {
		err = os.Rename(f.Name(), w.path)
	}
	if err != nil {
		w.file = nil
		return w, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return w, nil
}

// sweep removes what tests and clusters that were tried out leave behind.
func sweep(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, prefix+"*")) // the pattern is sound
	for _, path := range found {
		if _, _, folder, ok := read(path); ok {
			if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
				_ = os.Remove(path) // it is somebody else's then
			}
		}
	}
}

// Say notes that the folder has come to epoch. A witness that can't is taken
// away, so that none speaks of less than was done.
func (w *Witness) Say(epoch uint64) error {
	if w == nil || w.file == nil {
		return nil
	}
	var buf bytes.Buffer
	buf.Write(make([]byte, 4))
	buf.Write(w.line[:])
	buf.Write(binary.BigEndian.AppendUint64(nil, epoch))
	buf.WriteString(w.folder)
	raw := buf.Bytes()
	binary.BigEndian.PutUint32(raw, crc32.Checksum(raw[4:], castagnoli))
	_, err := w.file.WriteAt(raw, 0)
	if err == nil {
		return nil
	}
	if gone := os.Remove(w.path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return fmt.Errorf("the witness of %s can't be written: %w", w.folder, errors.Join(err, gone))
	}
	return nil
}

// Close leaves the witness to speak to the next run.
func (w *Witness) Close() error {
	if w == nil || w.file == nil {
		return nil
	}
	return w.file.Close()
}

// Dismiss takes it away.
func (w *Witness) Dismiss() error {
	if w == nil || w.file == nil {
		return nil
	}
	return errors.Join(w.file.Close(), os.Remove(w.path))
}
