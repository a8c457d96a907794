package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
)

// A task writes to its log files itself, through descriptors that nobody can
// take away from it. Copying a file and cutting it would lose what is written
// in between, and a process between the task and its logs would be one more
// that can fail it. So a log that has become too long keeps its file and loses
// its beginning: the old bytes are punched out of it. What is left stays where
// it is, so that offsets of readers go on to mean the same.

// Streams are the files that hold what a task writes.
var Streams = []string{"stdout", "stderr"}

// grain is what is punched at a time, a multiple of every file system's block:
// half a block would be filled with zeros that look like data.
const grain = 64 << 10

// ErrKept says that the file system can't give up the beginning of a file.
var ErrKept = errors.New("this file system keeps logs whole")

// TrimLogs gives up the beginnings of a task's logs, so that each takes about
// keep bytes, an eighth more at most. It returns how many bytes that freed.
func (s *Store) TrimLogs(ref offers.TaskRef, keep int64) (freed int64, err error) {
	root, err := os.OpenRoot(s.Path(ref))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	for _, name := range Streams {
		n, err := trim(root, name, keep)
		freed += n
		if err != nil {
			return freed, fmt.Errorf("%s of %s: %w", name, ref, err)
		}
	}
	return freed, nil
}

func trim(root *os.Root, name string, keep int64) (int64, error) {
	f, err := root.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, nil // the task has put something else there, or removed it
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, err
	}
	// A second name may be that of another's file.
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return 0, nil
	}
	from, err := dataFrom(f, 0)
	if err == io.EOF {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	to := (st.Size - keep) / grain * grain
	if to <= from || st.Size-from <= keep+max(keep/8, grain) {
		return 0, nil
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, to)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return 0, ErrKept
	}
	if err != nil {
		return 0, err
	}
	return to - from, nil
}

// dataFrom returns where the next byte is that was not punched out, from
// offset on; io.EOF if there is none yet.
func dataFrom(f *os.File, offset int64) (int64, error) {
	at, err := unix.Seek(int(f.Fd()), offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return 0, io.EOF
	case errors.Is(err, unix.EINVAL): // this file system knows no holes
		return offset, nil
	}
	return at, err
}

// log reads a file that grows at its end and may lose its beginning.
type log struct {
	f      *os.File
	at     int64
	buffer []byte
}

const readSize = 256 << 10

// next returns the next bytes, and io.EOF when there are none yet. Bytes that
// were punched out meanwhile are passed over: they would read as zeros. Since
// beginnings only move on, what is there after it was read was there before.
func (l *log) next() ([]byte, error) {
	if l.buffer == nil {
		l.buffer = make([]byte, readSize)
	}
	for {
		from, err := dataFrom(l.f, l.at)
		if err != nil {
			return nil, err
		}
		n, err := l.f.ReadAt(l.buffer, from)
		if n == 0 && err != nil {
			return nil, err
		}
		still, err := dataFrom(l.f, from)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if err == nil && still == from {
			l.at = from + int64(n)
			return l.buffer[:n], nil
		}
		l.at = from // it lost more while it was read
	}
}
