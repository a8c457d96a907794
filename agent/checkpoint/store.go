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
	"github.com/ringmaster-project/ringmaster/offers/pages"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

const (
	metaBucket     = "meta"
	launchBucket   = "launches"
	progressBucket = "progress"
)

// Place is where a checkpoint is and whose.
type Place struct {
	Path    string
	Witness string // where its witness lies, see [witness.Open]
	Agent   string // its name
}

// Store is an open checkpoint.
type Store struct {
	db      *bbolt.DB
	last    metaRecord // as it was written last
	witness *witness.Witness
}

// Change is what one commit writes: all of it or nothing.
type Change struct {
	Meta     *tasks.Meta
	Launched []*tasks.Launch
	Progress map[offers.TaskRef]tasks.Progress
	Removed  []offers.TaskRef
}

// Open reads the checkpoint, makes it anew, and returns it with what it held.
// A file that is not there holds nothing. Whether the file is the latest, and
// not a copy from before, is found out first; a doubt is part of the new file,
// so that it outlives this run unless it is settled in it.
func Open(p Place, now time.Time) (*Store, Content, error) {
	content := read(p.Path)
	aside := content.question(p)
	if aside == "" && content.Damage != nil {
		aside = "damaged"
	}
	last := metaRecord{Meta: content.Meta, Name: p.Agent, Line: content.line, Epoch: content.Epoch}
	if last.Line == (witness.Line{}) {
		last.Line = witness.NewLine()
	}
	fresh := p.Path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	last, err := rewrite(fresh, last, content)
	if err != nil {
		return nil, content, err
	}
	if aside != "" {
		content.Aside = p.Path + "." + aside + "-" + now.UTC().Format("20060102T150405.000")
		if err := os.Rename(p.Path, content.Aside); err != nil {
			return nil, content, fmt.Errorf("set the %s checkpoint aside: %w", aside, err)
		}
	}
	if err := os.Rename(fresh, p.Path); err != nil {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	if err := syncFolder(filepath.Dir(p.Path)); err != nil {
		return nil, content, fmt.Errorf("checkpoint: %w", err)
	}
	s, err := open(p.Path, last)
	if err == nil {
		s.witness, content.Unwitnessed = witness.Open(p.Witness, filepath.Dir(p.Path), last.Line, last.Epoch)
	}
	return s, content, err
}

// question finds out whether the file is the latest of this agent, and notes a
// doubt. It returns what to call the file when it is to be set aside for it.
func (c *Content) question(p Place) (aside string) {
	if !c.there {
		return ""
	}
	of, epoch, ok := witness.Read(p.Witness, filepath.Dir(p.Path))
	known := ok && of == c.line
	switch {
	case c.name != p.Agent && c.name != "" && !known:
		*c = Content{there: true, Damage: fmt.Errorf("the checkpoint is of the agent %.256q", c.name)}
		return "foreign"
	case known && epoch > c.Epoch:
		c.Meta.Doubt, c.Older = fmt.Sprintf("its checkpoint is an older copy (%d changes of %d)", c.Epoch, epoch), true
		c.Epoch = epoch
		return "older"
	case c.Damage != nil:
		c.Meta.Doubt = "its checkpoint was damaged"
	case known || c.Meta.Doubt != "":
	case ok:
		c.Meta.Doubt = "its checkpoint is not the one that was used here last"
	default:
		c.Meta.Doubt = "its host has restarted, or its checkpoint was brought here"
	}
	return ""
}

func open(path string, last metaRecord) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("open the checkpoint %s: %w", path, err)
	}
	return &Store{db: db, last: last}, nil
}

// rewrite puts what was read into a new file.
func rewrite(path string, last metaRecord, c Content) (metaRecord, error) {
	s, err := open(path, last)
	if err != nil {
		return last, err
	}
	change := Change{Progress: make(map[offers.TaskRef]tasks.Progress, len(c.Known))}
	for i := range c.Known {
		k := &c.Known[i]
		change.Launched = append(change.Launched, &k.Launch)
		change.Progress[k.Launch.Ref()] = k.Progress
	}
	err = s.Commit(change)
	return s.last, errors.Join(err, s.Close())
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
	next := s.last
	if c.Meta != nil {
		next.Meta = *c.Meta
	}
	next.Epoch++
	err := s.db.Update(func(tx *bbolt.Tx) error {
		buckets := map[string]*bbolt.Bucket{}
		for _, name := range []string{metaBucket, launchBucket, progressBucket} {
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			buckets[name] = b
		}
		return c.put(buckets, &next)
	})
	if err == nil {
		err = s.witness.Say(next.Epoch)
	}
	if err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	s.last = next
	return nil
}

func (c Change) put(buckets map[string]*bbolt.Bucket, meta *metaRecord) error {
	put := func(bucket string, key []byte, value []byte, err error) error {
		if err != nil {
			return err
		}
		return buckets[bucket].Put(key, pages.Seal(bucket, key, value))
	}
	for _, l := range c.Launched {
		key := keyOf(l.Ref())
		if buckets[launchBucket].Get(key) == nil {
			meta.Tasks++
		}
		value, err := encodeLaunch(*l)
		if err := put(launchBucket, key, value, err); err != nil {
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
		key := keyOf(ref)
		if buckets[launchBucket].Get(key) != nil {
			meta.Tasks--
		}
		if err := errors.Join(buckets[launchBucket].Delete(key), buckets[progressBucket].Delete(key)); err != nil {
			return err
		}
	}
	value, err := encode(meta)
	return put(metaBucket, []byte("meta"), value, err)
}

// Close releases the file. The witness stays: it speaks to the next run.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.witness.Close()) }

// Dismiss closes the store of an agent that leaves nothing behind, and takes
// its witness away.
func (s *Store) Dismiss() error {
	return errors.Join(s.db.Close(), s.witness.Dismiss())
}
