package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Keep says which folders of forgotten tasks stay.
type Keep struct {
	Count int           // the newest
	Age   time.Duration // since they were forgotten
}

// Store is safe for concurrent use.
type Store struct {
	dir  string
	keep Keep

	mu    sync.Mutex
	ended []forgotten // whose folders are still there, oldest first
}

type forgotten struct {
	ref   offers.TaskRef
	since time.Time
}

// Open returns the store under dir. Every folder there that is not of a task
// in known counts as forgotten, in the order of their last change.
func Open(dir string, keep Keep, known map[offers.TaskRef]bool) (*Store, error) {
	// Tasks of other users have to get through to their own folder.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("sandboxes: %w", err)
	}
	s := &Store{dir: dir, keep: keep}
	frameworks, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sandboxes: %w", err)
	}
	for _, f := range frameworks {
		folders, err := os.ReadDir(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("sandboxes: %w", err)
		}
		for _, t := range folders {
			ref := offers.TaskRef{Framework: offers.FrameworkID(f.Name()), Task: offers.TaskID(t.Name())}
			if info, err := t.Info(); err == nil && !known[ref] {
				s.ended = append(s.ended, forgotten{ref, info.ModTime()})
			}
		}
	}
	slices.SortStableFunc(s.ended, func(a, b forgotten) int { return a.since.Compare(b.since) })
	return s, nil
}

// Path returns the folder of a task. Both ids have been validated.
func (s *Store) Path(ref offers.TaskRef) string {
	return filepath.Join(s.dir, string(ref.Framework), string(ref.Task))
}

// Create makes a task's folder, empty but for its two output files and the
// folder sub (relative, "" for none), all owned by owner (nil: the agent).
// What a forgotten task of that id left is removed.
func (s *Store) Create(ref offers.TaskRef, owner *record.User, sub string) (string, error) {
	s.mu.Lock()
	s.ended = slices.DeleteFunc(s.ended, func(f forgotten) bool { return f.ref == ref })
	s.mu.Unlock()
	if sub != "" && !filepath.IsLocal(sub) {
		return "", fmt.Errorf("command.dir: %.100q leads out of the sandbox", sub)
	}
	path := s.Path(ref)
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	if err := errors.Join(os.Mkdir(path, 0o700), own(path, owner)); err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	for _, name := range []string{"stdout", "stderr"} {
		file := filepath.Join(path, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), own(file, owner)); err != nil {
			return "", fmt.Errorf("sandbox: %w", err)
		}
	}
	return path, makeSub(path, sub, owner)
}

// Give gives a folder that Create has made, with what was put there since, to
// another owner, before the task starts.
func (s *Store) Give(ref offers.TaskRef, owner *record.User) error {
	err := filepath.WalkDir(s.Path(ref), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, own(path, owner))
	})
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return nil
}

// makeSub makes the folder that the task starts in, part by part, so that
// each belongs to the task's user.
func makeSub(path, sub string, owner *record.User) error {
	if sub = filepath.Clean(sub); sub == "." {
		return nil
	}
	if err := makeSub(path, filepath.Dir(sub), owner); err != nil {
		return err
	}
	full := filepath.Join(path, sub)
	if err := os.Mkdir(full, 0o700); err != nil {
		return fmt.Errorf("command.dir: %w", err)
	}
	return own(full, owner)
}

func own(path string, owner *record.User) error {
	if owner == nil {
		return nil
	}
	return os.Lchown(path, int(owner.UID), int(owner.GID))
}

// Forgotten notes that nobody will ask about a task any more.
func (s *Store) Forgotten(ref offers.TaskRef, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, forgotten{ref, now})
}
