package sandbox

import (
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Used returns how many bytes of the disk a task's folder takes: blocks, so
// that holes count nothing, and what has several names counts once. Files that
// are open and have no name any more are not seen, and neither is what is
// mounted into the folder.
func (s *Store) Used(ref offers.TaskRef) (int64, error) {
	type file struct{ device, inode uint64 }
	seen := map[file]bool{}
	var total int64
	var device uint64
	err := filepath.WalkDir(s.Path(ref), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went while it was looked at
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if device == 0 {
			device = st.Dev
		}
		if st.Dev != device {
			return skip(d)
		}
		if st.Nlink > 1 && !d.IsDir() {
			if seen[file{st.Dev, st.Ino}] {
				return nil
			}
			seen[file{st.Dev, st.Ino}] = true
		}
		total += st.Blocks * 512
		return nil
	})
	return total, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
