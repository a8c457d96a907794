package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
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
	line  line
}

// read returns all that is good in a file. It never writes to it.
func read(path string) (c Content) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return Content{}
	}
	r := reader{launches: map[offers.TaskRef]tasks.Launch{}, progress: map[offers.TaskRef]tasks.Progress{}, bad: map[offers.TaskRef]bool{}}
	if err := r.file(path); err != nil {
		r.damage = append(r.damage, err)
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

// file reads the whole file in this goroutine, in which a fault of the memory
// map (a file that was cut short) and bbolt's own panics can be caught.
func (r *reader) file(path string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file %s is damaged: %v", path, p)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return fmt.Errorf("the file %s can't be read: %w", path, err)
	}
	defer db.Close()
	if err := metaPages(path, db.Info().PageSize); err != nil {
		r.damage = append(r.damage, err)
	}
	return db.View(func(tx *bbolt.Tx) error {
		for name, decode := range map[string]func(key, value []byte) error{
			metaBucket: r.readMeta, launchBucket: r.readLaunch, progressBucket: r.readProgress,
		} {
			b := tx.Bucket([]byte(name))
			if b == nil {
				return fmt.Errorf("the file %s has no bucket %s", path, name)
			}
			if err := b.ForEach(func(key, sealed []byte) error { r.one(name, key, sealed, decode); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
}

// metaPages checks both of the pages that say where bbolt's tree begins. With
// one of them broken bbolt goes back to the other, which is one commit old,
// and says nothing.
func metaPages(path string, pageSize int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const header, summed, magic = 16, 56, 0xED0CDAED
	for n := range 2 {
		var page [header + summed + 8]byte
		if _, err := f.ReadAt(page[:], int64(n*pageSize)); err != nil {
			return fmt.Errorf("meta page %d: %w", n, err)
		}
		hash := fnv.New64a()
		_, _ = hash.Write(page[header : header+summed]) // never fails
		if binary.NativeEndian.Uint32(page[header:]) != magic || binary.NativeEndian.Uint64(page[header+summed:]) != hash.Sum64() {
			return fmt.Errorf("meta page %d is damaged; what came last may be missing", n)
		}
	}
	return nil
}

// one reads one record; a damaged one is noted and the others go on.
func (r *reader) one(bucket string, key, sealed []byte, decode func(key, value []byte) error) {
	if bucket == launchBucket {
		r.seen++
	}
	value, err := unseal(bucket, key, sealed)
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
		err = errDamaged
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
