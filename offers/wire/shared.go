package wire

import "sync/atomic"

// Unsent is how many bytes wait to be sent, or are being sent, over all
// connections that share it. No connection may have more of them than are left
// for all: of n whose ends don't read each has an n+1st part at most, and who
// reads is not cut off for them, since as much is left. Switches share their
// memory among queues in this way (dynamic thresholds, Choudhury and Hahne, 1998).
// Safe for concurrent use; nil bounds nothing.
type Unsent struct {
	most  int64 // static
	bytes atomic.Int64
}

// NewUnsent returns one of at most so many bytes.
func NewUnsent(most int) *Unsent { return &Unsent{most: int64(most)} }

// Bytes returns how many there are.
func (u *Unsent) Bytes() int64 { return u.bytes.Load() }

// take adds n bytes of a connection that has own of them, if it may have so many.
func (u *Unsent) take(own, n int) bool {
	if u == nil {
		return true
	}
	for {
		bytes := u.bytes.Load()
		if int64(own+n) > u.most-bytes {
			return false
		}
		if u.bytes.CompareAndSwap(bytes, bytes+int64(n)) {
			return true
		}
	}
}

func (u *Unsent) give(n int) {
	if u != nil {
		u.bytes.Add(int64(-n))
	}
}
