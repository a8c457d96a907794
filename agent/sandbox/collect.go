package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Collect removes the folders of forgotten tasks that are too many or too old,
// and then the oldest as long as pressed says so (nil: never). It returns how
// many.
func (s *Store) Collect(now time.Time, pressed func() bool) (int, error) {
	for removed := 0; ; removed++ {
		ref, more := s.next(now, pressed)
		if !more {
			return removed, nil
		}
		if err := os.RemoveAll(s.Path(ref)); err != nil {
			return removed, fmt.Errorf("sandbox of %s: %w", ref, err)
		}
		_ = os.Remove(filepath.Dir(s.Path(ref))) // stays while other tasks are in it
	}
}

// next takes the oldest folder out of the list if it is to go.
func (s *Store) next(now time.Time, pressed func() bool) (offers.TaskRef, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) == 0 {
		return offers.TaskRef{}, false
	}
	oldest := s.ended[0]
	if len(s.ended) <= s.keep.Count && now.Sub(oldest.since) <= s.keep.Age && (pressed == nil || !pressed()) {
		return offers.TaskRef{}, false
	}
	s.ended = s.ended[1:]
	return oldest.ref, true
}

// enough is what is left free for those who write to the same disk, where a
// twentieth of it is more than that.
const enough = 5 << 30

// atLeast is what has to be free for another task to begin, where a hundredth of
// the disk is more than that.
const atLeast = 256 << 20

// Full reports whether there is no room for another task on the disk of the
// folders: less than a hundredth of it, and less than 256 MiB, is free, or if it
// was full until now less than twice that.
func (s *Store) Full(was bool) bool {
	total, free, known := s.disk()
	return known && full(total, free, was)
}

func full(total, free uint64, was bool) bool {
	least := min(total/100, atLeast)
	if was {
		least *= 2
	}
	return free < least
}

// Pressed reports whether the disk of the folders is nearly full: less than a
// twentieth of it, and less than 5 GiB, is free.
func (s *Store) Pressed() bool {
	total, free, known := s.disk()
	return known && nearlyFull(total, free)
}

// disk returns how many bytes the disk of the folders has, and how many of them
// are free for who is not root.
func (s *Store) disk() (total, free uint64, known bool) {
	var st unix.Statfs_t
	if unix.Statfs(s.dir, &st) != nil {
		return 0, 0, false
	}
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), true
}

func nearlyFull(total, free uint64) bool { return free < min(total/20, enough) }
