package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/pages"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// Content is what a checkpoint held.
type Content struct {
	Meta   tasks.Meta // with the doubt whether it is the latest
	Epoch  uint64     // how many changes it had seen
	Known  []tasks.Known
	Lost   []offers.TaskRef // tasks of which a record is damaged
	Damage error            // nil where everything was good and its own
	Older  bool             // more was done here than it knows: it is a copy
	Aside  string           // where a file that was damaged, older or another agent's was put
	// Unwitnessed says why the next run will be in doubt, nil where it need not.
	Unwitnessed error

	there bool // there was a file
	name  string
	line  witness.Line
}

// read returns all that is good in a file. It never writes to it.
func read(path string) (c Content) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return Content{}
	}
	r := reader{launches: map[offers.TaskRef]tasks.Launch{}, progress: map[offers.TaskRef]tasks.Progress{}, bad: map[offers.TaskRef]bool{}}
	if err := r.file(path); err != nil {
		r.damage = append(r.damage, fmt.Errorf("the file %s is damaged: %w", path, err))
	}
	return r.content()
}

type reader struct {
	meta     *metaRecord // nil: none that is good
	seen     int         // records of launches, damaged ones too
	launches map[offers.TaskRef]tasks.Launch
	progress map[offers.TaskRef]tasks.Progress
	bad      map[offers.TaskRef]bool
	damage   []error
}

// file reads the whole file without bbolt, which trusts what it finds.
func (r *reader) file(path string) error {
	buckets := map[string]func(key, value []byte) error{
		metaBucket: r.readMeta, launchBucket: r.readLaunch, progressBucket: r.readProgress,
	}
	return pages.File(path, func(bucket string, key, sealed []byte) error {
		decode, known := buckets[bucket]
		if !known {
			return errors.New("the bucket is not known")
		}
		r.one(bucket, key, sealed, decode)
		return nil
	})
}

// one reads one record; a damaged one is noted and the others go on.
func (r *reader) one(bucket string, key, sealed []byte, decode func(key, value []byte) error) {
	if bucket == launchBucket {
		r.seen++
	}
	value, err := pages.Unseal(bucket, key, sealed)
	if err == nil {
		err = decode(key, value)
	}
	if err == nil {
		return
	}
	r.damage = append(r.damage, fmt.Errorf("%s %.80q: %w", bucket, key, err))
	if ref, err := refOf(key); err == nil && bucket != metaBucket {
		r.bad[ref] = true
	}
}

func (r *reader) readMeta(_, value []byte) error {
	var m metaRecord
	if err := cbor.Unmarshal(value, &m); err != nil {
		return err
	}
	r.meta = &m
	return nil
}

func (r *reader) readLaunch(key, value []byte) error {
	ref, err := refOf(key)
	if err != nil {
		return err
	}
	l, err := decodeLaunch(value)
	if err == nil && l.Ref() != ref {
		err = pages.ErrDamaged
	}
	if err == nil {
		r.launches[ref] = l
	}
	return err
}

func (r *reader) readProgress(key, value []byte) error {
	ref, err := refOf(key)
	if err != nil {
		return err
	}
	var p tasks.Progress
	if err := cbor.Unmarshal(value, &p); err != nil {
		return err
	}
	r.progress[ref] = p
	return nil
}

// content joins both halves of every task; a half alone is damage too, since
// both are written in one commit.
func (r *reader) content() Content {
	c := Content{there: true}
	switch m := r.meta; {
	case m == nil:
		r.damage = append(r.damage, errors.New("the record of the agent itself is damaged or missing"))
	default:
		c.Meta, c.Epoch, c.name, c.line = m.Meta, m.Epoch, m.Name, m.Line
		if m.Tasks != r.seen {
			r.damage = append(r.damage, fmt.Errorf("it has %d tasks and says %d", r.seen, m.Tasks))
		}
	}
	for ref, l := range r.launches {
		p, ok := r.progress[ref]
		if !ok {
			r.bad[ref] = true
		} else if !r.bad[ref] {
			c.Known = append(c.Known, tasks.Known{Launch: l, Progress: p})
		}
	}
	for ref := range r.progress {
		if _, ok := r.launches[ref]; !ok {
			r.bad[ref] = true
		}
	}
	for ref := range r.bad {
		c.Lost = append(c.Lost, ref)
	}
	slices.SortFunc(c.Lost, func(a, b offers.TaskRef) int { return slices.Compare(keyOf(a), keyOf(b)) })
	if len(c.Lost) > 0 {
		r.damage = append(r.damage, fmt.Errorf("%d tasks have damaged records", len(c.Lost)))
	}
	c.Damage = errors.Join(r.damage...)
	return c
}
