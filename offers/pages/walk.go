package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Visit takes a record of a bucket. Neither slice may be changed; they stay
// good. Its error is noted like other damage and the walk goes on.
type Visit func(bucket string, key, value []byte) error

// mostDamage bounds what one walk tells.
const mostDamage = 20

// File is Walk over the file at path.
func File(path string, visit Visit) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return Walk(f, info.Size(), visit)
}

// Walk hands out every record that it comes to, in the order of the buckets'
// names and then of the keys. The error tells all damage, nil means that the
// file is whole. It costs one reading of every page in use.
func Walk(file io.ReaderAt, size int64, visit Visit) error {
	w := &walker{file: file, seen: map[uint64]bool{}}
	m, err := w.newestMeta(size)
	if err != nil {
		w.damage(err)
	}
	if m == nil {
		return errors.Join(w.errs...)
	}
	w.meta = *m
	w.page(m.root, nil, nil, func(e element) {
		if e.flags&bucketFlag == 0 || len(e.value) < bucketHeader {
			w.damage(fmt.Errorf("the record %.40q lies outside of any bucket", e.key))
			return
		}
		w.bucket(string(e.key), e.value, visit)
	})
	return errors.Join(w.errs...)
}

type walker struct {
	file io.ReaderAt
	meta meta
	seen map[uint64]bool // pages; a second way to one is damage
	errs []error
}

func (w *walker) damage(err error) {
	if len(w.errs) < mostDamage {
		w.errs = append(w.errs, err)
	}
}

// bucket goes through one bucket, which lies in its own pages or in the value.
func (w *walker) bucket(name string, value []byte, visit Visit) {
	each := func(e element) {
		if e.flags&bucketFlag != 0 {
			w.damage(fmt.Errorf("bucket %.40q holds a bucket", name))
			return
		}
		if err := visit(name, e.key, e.value); err != nil {
			w.damage(fmt.Errorf("%s %.80q: %w", name, e.key, err))
		}
	}
	if root := order.Uint64(value); root != 0 {
		w.page(root, nil, nil, each)
		return
	}
	p, err := parse(value[bucketHeader:])
	if err == nil && p.flags != leafPage {
		err = fmt.Errorf("its page has the flags %#x", p.flags)
	}
	if err != nil {
		w.damage(fmt.Errorf("bucket %.40q: %w", name, err))
		return
	}
	w.leaf(p, nil, nil, each)
}

// page goes through one page whose keys lie in [least, below); nil is no bound.
func (w *walker) page(id uint64, least, below []byte, each func(element)) {
	if w.seen[id] {
		w.damage(fmt.Errorf("page %d is part of the tree twice", id))
		return
	}
	w.seen[id] = true
	p, err := w.read(id)
	if err != nil {
		w.damage(err)
		return
	}
	if p.flags == leafPage {
		w.leaf(p, least, below, each)
		return
	}
	last := least
	for i := range p.count {
		e, err := p.branch(i)
		if err == nil {
			err = within(e.key, last, below, i == 0)
		}
		if err != nil {
			w.damage(fmt.Errorf("page %d: %w", id, err))
			return
		}
		upper := below
		if i+1 < p.count {
			if next, err := p.branch(i + 1); err == nil {
				upper = next.key
			}
		}
		w.page(e.child, e.key, upper, each)
		last = e.key
	}
}

func (w *walker) leaf(p page, least, below []byte, each func(element)) {
	last := least
	for i := range p.count {
		e, err := p.leaf(i)
		if err == nil {
			err = within(e.key, last, below, i == 0)
		}
		if err != nil {
			w.damage(fmt.Errorf("page %d: %w", p.id, err))
			return
		}
		each(e)
		last = e.key
	}
}

// within checks that a key comes after last (or, as the first, is not before
// it) and before below.
func within(key, last, below []byte, first bool) error {
	order := bytes.Compare(key, last)
	if last != nil && (order < 0 || order == 0 && !first) || below != nil && bytes.Compare(key, below) >= 0 {
		return fmt.Errorf("the key %.40q is out of order", key)
	}
	return nil
}
