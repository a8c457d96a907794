package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// order is that of the machine: bbolt writes its structs as they lie in memory.
var order = binary.NativeEndian

const (
	magic   = 0xED0CDAED
	version = 2

	branchPage = 0x01
	leafPage   = 0x02
	metaPage   = 0x04
	bucketFlag = 0x01 // of an element

	pageHeader   = 8 + 2 + 2 + 4            // id, flags, count, overflow
	elementSize  = 16                       // of both kinds
	bucketHeader = 8 + 8                    // root page, sequence
	metaSummed   = 4*4 + bucketHeader + 3*8 // magic, version, page size, flags; root; freelist, pages, transaction
	metaSize     = metaSummed + 8
)

// meta is one of the two pages that say where everything is.
type meta struct {
	pageSize    uint64
	root        uint64
	pages       uint64 // all of them; higher ones are not in use
	transaction uint64
}

// newestMeta returns the meta page of the last commit. The error says what is
// wrong with the pages, also where one of them is good enough to go on with.
func (w *walker) newestMeta(size int64) (*meta, error) {
	first, err := w.metaAt(0, 0)
	if first == nil {
		// Without the first the size of a page has to be guessed.
		for guess := uint64(1024); guess <= 1<<16; guess *= 2 {
			if second, serr := w.metaAt(1, guess); serr == nil && second.pageSize == guess {
				return fit(second, size, err)
			}
		}
		return nil, err
	}
	second, err := w.metaAt(1, first.pageSize)
	switch {
	case err != nil:
		return fit(first, size, err)
	case second.pageSize != first.pageSize || max(first.transaction, second.transaction)-min(first.transaction, second.transaction) != 1:
		return nil, errors.New("the meta pages are not of one file")
	case second.transaction > first.transaction:
		return fit(second, size, nil)
	}
	return fit(first, size, nil)
}

// fit checks that all pages are there.
func fit(m *meta, size int64, err error) (*meta, error) {
	if m.pages > uint64(size)/m.pageSize {
		return m, errors.Join(err, fmt.Errorf("the file is cut short: it has %d bytes and %d pages of %d", size, m.pages, m.pageSize))
	}
	return m, err
}

func (w *walker) metaAt(n int, pageSize uint64) (*meta, error) {
	var raw [pageHeader + metaSize]byte
	if _, err := w.file.ReadAt(raw[:], int64(n)*int64(pageSize)); err != nil {
		return nil, fmt.Errorf("meta page %d: %w", n, err)
	}
	m := raw[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSummed]) // never fails
	if order.Uint32(m) != magic || order.Uint32(m[4:]) != version || order.Uint64(m[metaSummed:]) != sum.Sum64() ||
		order.Uint64(raw[:]) != uint64(n) || order.Uint16(raw[8:])&metaPage == 0 {
		return nil, fmt.Errorf("meta page %d is damaged: what came last may be missing", n)
	}
	out := &meta{
		pageSize: uint64(order.Uint32(m[8:])), root: order.Uint64(m[16:]),
		pages: order.Uint64(m[40:]), transaction: order.Uint64(m[48:]),
	}
	if out.pageSize < 1024 || out.pageSize > 1<<16 || out.pageSize&(out.pageSize-1) != 0 {
		return nil, fmt.Errorf("meta page %d has pages of %d bytes", n, out.pageSize)
	}
	return out, nil
}

// page is a branch or a leaf with all that it overflows into.
type page struct {
	id    uint64
	flags uint16
	count int
	raw   []byte // with the header
}

// element is an entry of a page.
type element struct {
	flags      uint32
	key, value []byte
	child      uint64 // of a branch
}

// read returns the branch or leaf with that number.
func (w *walker) read(id uint64) (page, error) {
	if id < 2 || id >= w.meta.pages {
		return page{}, fmt.Errorf("there is no page %d", id)
	}
	raw := make([]byte, w.meta.pageSize)
	if _, err := w.file.ReadAt(raw, int64(id*w.meta.pageSize)); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	over := uint64(order.Uint32(raw[12:]))
	if over >= w.meta.pages-id {
		return page{}, fmt.Errorf("page %d goes on for %d pages", id, over)
	}
	for n := id + 1; n <= id+over; n++ {
		if w.seen[n] {
			return page{}, fmt.Errorf("page %d is part of the tree twice", n)
		}
		w.seen[n] = true
	}
	if over > 0 {
		rest := make([]byte, over*w.meta.pageSize)
		if _, err := w.file.ReadAt(rest, int64((id+1)*w.meta.pageSize)); err != nil && !errors.Is(err, io.EOF) {
			return page{}, fmt.Errorf("page %d: %w", id, err)
		}
		raw = append(raw, rest...)
	}
	p, err := parse(raw)
	switch {
	case err != nil:
		return page{}, fmt.Errorf("page %d: %w", id, err)
	case p.id != id:
		return page{}, fmt.Errorf("page %d says that it is page %d", id, p.id)
	case p.flags != branchPage && p.flags != leafPage:
		return page{}, fmt.Errorf("page %d has the flags %#x", id, p.flags)
	case p.flags == branchPage && p.count == 0:
		return page{}, fmt.Errorf("page %d leads nowhere", id)
	}
	return p, nil
}

func parse(raw []byte) (page, error) {
	if len(raw) < pageHeader {
		return page{}, errors.New("it is cut short")
	}
	p := page{id: order.Uint64(raw), flags: order.Uint16(raw[8:]), count: int(order.Uint16(raw[10:])), raw: raw}
	if pageHeader+p.count*elementSize > len(raw) {
		return page{}, fmt.Errorf("it has no room for its %d elements", p.count)
	}
	return p, nil
}

// part returns n bytes at an offset from element i.
func (p page) part(i int, from, n uint32) ([]byte, error) {
	start := uint64(pageHeader+i*elementSize) + uint64(from)
	if uint64(from) < elementSize || start+uint64(n) > uint64(len(p.raw)) {
		return nil, fmt.Errorf("element %d lies outside of the page", i)
	}
	return p.raw[start : start+uint64(n)], nil
}

func (p page) branch(i int) (element, error) {
	head := p.raw[pageHeader+i*elementSize:]
	key, err := p.part(i, order.Uint32(head), order.Uint32(head[4:]))
	return element{key: key, child: order.Uint64(head[8:])}, err
}

func (p page) leaf(i int) (element, error) {
	head := p.raw[pageHeader+i*elementSize:]
	from, keySize, valueSize := order.Uint32(head[4:]), order.Uint32(head[8:]), order.Uint32(head[12:])
	key, err := p.part(i, from, keySize)
	if err != nil {
		return element{}, err
	}
	both, err := p.part(i, from, keySize+valueSize)
	if err != nil || keySize+valueSize < keySize {
		return element{}, fmt.Errorf("element %d lies outside of the page", i)
	}
	return element{flags: order.Uint32(head), key: key, value: both[keySize:]}, nil
}
