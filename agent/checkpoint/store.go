package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

const (
	metaBucket     = "meta"
	launchBucket   = "launches"
	progressBucket = "progress"
)

// Store is an open checkpoint.
type Store struct{ db *bbolt.DB }

// Change is what one commit writes: all of it or nothing.
type Change struct {
	Meta     *tasks.Meta
	Launched []tasks.Launch
	Progress map[offers.TaskRef]tasks.Progress
	Removed  []offers.TaskRef
}

// Open reads the checkpoint at path, makes it anew, and returns it with what
// it held. A file that is not there holds nothing.
func Open(path string, now time.Time) (*Store, Content, error) {
	content := read(path)
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	if err := rewrite(fresh, content); err != nil {
		return nil, content, err
	}
	if content.Damage != nil {
		content.Aside = path + ".damaged-" + now.UTC().Format("20060102T150405.000")
		if err := os.Rename(path, content.Aside); err != nil {
			return nil, content, fmt.Errorf("set the damaged checkpoint aside: %w", err)
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	s, err := open(path)
	return s, content, err
}

func open(path string) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("open the checkpoint %s: %w", path, err)
	}
	return &Store{db: db}, nil
}

// rewrite puts what was read into a new file.
func rewrite(path string, c Content) error {
	s, err := open(path)
	if err != nil {
		return err
	}
	change := Change{Meta: &c.Meta, Progress: make(map[offers.TaskRef]tasks.Progress, len(c.Known))}
	for _, k := range c.Known {
		change.Launched = append(change.Launched, k.Launch)
		change.Progress[k.Launch.Ref()] = k.Progress
	}
	return errors.Join(s.Commit(change), s.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Commit writes c durably. After an error the store is not to be used.
func (s *Store) Commit(c Change) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		buckets := map[string]*bbolt.Bucket{}
		for _, name := range []string{metaBucket, launchBucket, progressBucket} {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			buckets[name] = b
		}
		return c.put(buckets)
	})
	if err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}

func (c Change) put(buckets map[string]*bbolt.Bucket) error {
	put := func(bucket string, key []byte, value []byte, err error) error {
		if err != nil {
			return err
		}
		return buckets[bucket].Put(key, seal(bucket, key, value))
	}
	if c.Meta != nil {
		value, err := encode(c.Meta)
		if err := put(metaBucket, []byte("meta"), value, err); err != nil {
			return err
		}
	}
	for _, l := range c.Launched {
		value, err := encodeLaunch(l)
		if err := put(launchBucket, keyOf(l.Ref()), value, err); err != nil {
			return err
		}
	}
	for ref, p := range c.Progress {
		value, err := encode(p)
		if err := put(progressBucket, keyOf(ref), value, err); err != nil {
			return err
		}
	}
	for _, ref := range c.Removed {
		for _, name := range []string{launchBucket, progressBucket} {
			if err := buckets[name].Delete(keyOf(ref)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close releases the file.
func (s *Store) Close() error { return s.db.Close() }
