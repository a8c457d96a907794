package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// reader goes over a message. After an error it reads nothing more. What it
// returns shares the memory of the message.
type reader struct {
	rest string
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = ""
}

var errShort = errors.New("it is cut short")

func (r *reader) short() {
	if r.err == nil {
		r.err = errShort
	}
	r.rest = ""
}

func (r *reader) byte() byte {
	if r.rest == "" {
		r.short()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		b := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(b)
	}
	var n uint64
	for i := range min(len(r.rest), binary.MaxVarintLen64) {
		b := r.rest[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.short()
	return 0
}

func (r *reader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// take returns the next n bytes.
func (r *reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.short()
		return ""
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) text() string {
	s := r.take(r.uvarint())
	if !utf8.ValidString(s) {
		r.fail("a text is not valid UTF-8")
		return ""
	}
	return s
}

// count returns how many elements follow, of which each takes least bytes, and
// whether there is a slice or a map at all.
func (r *reader) count(least int) (int, bool) {
	n := r.uvarint()
	if n == 0 {
		return 0, false
	}
	if n--; n > uint64(len(r.rest)/max(least, 1)) {
		r.short()
		return 0, false
	}
	return int(n), true
}
