package door

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// AnswerPatience is for how long nothing of an answer may be taken.
const AnswerPatience = 30 * time.Second

const (
	// answerPiece is how much of an answer is to be taken in that time: more than
	// that is written in pieces, so that who reads on slowly has all of it.
	answerPiece = 64 << 10
	// answerGrain is how much less than its time a piece may have: to say how long
	// each may take costs more than to write a small one.
	answerGrain = time.Second
)

// patientAnswer gives each piece of an answer its time.
type patientAnswer struct {
	http.ResponseWriter
	control *http.ResponseController // of ResponseWriter

	mu   sync.Mutex
	own  bool      // whoever serves says how long writes may take, or has the connection
	from time.Time // when the present piece's time began
}

// goesOn begins the time of a piece.
func (a *patientAnswer) goesOn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); now.Sub(a.from) >= answerGrain {
		a.from = now
		a.until(now.Add(AnswerPatience))
	}
}

// ends begins the time of what the server writes at last, before which it may wait.
func (a *patientAnswer) ends(wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until(time.Now().Add(wait + AnswerPatience))
}

func (a *patientAnswer) until(deadline time.Time) {
	if !a.own {
		_ = a.control.SetWriteDeadline(deadline) // where it can't be set, nothing has a limit
	}
}

// Write implements [http.ResponseWriter].
func (a *patientAnswer) Write(p []byte) (n int, err error) {
	for more := true; more && err == nil; more = n < len(p) {
		a.goesOn()
		var wrote int
		wrote, err = a.ResponseWriter.Write(p[n:min(n+answerPiece, len(p))])
		n += wrote
	}
	return n, err
}

// FlushError is for [http.ResponseController], as what follows is.
func (a *patientAnswer) FlushError() error {
	a.goesOn()
	return a.control.Flush()
}

// SetWriteDeadline has the answer's writer say how long its writes may take, until it
// sets none.
func (a *patientAnswer) SetWriteDeadline(deadline time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own, a.from = !deadline.IsZero(), time.Time{}
	return a.control.SetWriteDeadline(deadline)
}

// Hijack hands the connection over, with no limit.
func (a *patientAnswer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := a.control.Hijack()
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.own = true
	}
	return conn, rw, err
}

// Unwrap gives the rest.
func (a *patientAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
