package door

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// BodyPatience is for how long the body of a request may stand still.
const BodyPatience = 30 * time.Second

// ErrStill is what the body of a request that stood still fails with.
var ErrStill = offers.Errorf(offers.BadMessage, "nothing more of the request's body came for %v", BodyPatience)

// Patient has h serve requests whose bodies come, and whose answers are taken, be it
// slowly: a large upload may take as long as it does, and so may a stream that is
// followed. A body that stands still fails with [ErrStill], and what h does not read of
// it ends the connection, since a server wants to have that out of the way and would
// wait for it without an end, also before it sends the answer. So does an answer of
// which nothing is taken for [AnswerPatience], which h would hold for ever.
func Patient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &patientAnswer{ResponseWriter: w, control: http.NewResponseController(w)}
		answer.goesOn()
		if r.ContentLength == 0 {
			defer answer.ends(0)
			h.ServeHTTP(answer, r)
			return
		}
		body := &patientBody{ReadCloser: r.Body, wait: func(d time.Time) {
			_ = answer.control.SetReadDeadline(d) // where it can't be set, nothing has a limit
			answer.goesOn()                       // a read may write "100 Continue"
		}}
		defer answer.ends(BodyPatience)
		defer body.leave()
		body.wait(time.Now().Add(BodyPatience))
		// In a copy: a server that finds its own reader replaced waits for
		// the body of a client that waits for "100 Continue".
		slow := *r
		slow.Body = body
		h.ServeHTTP(answer, &slow)
	})
}

// patientBody gives each read of a body its time.
type patientBody struct {
	io.ReadCloser
	mu   sync.Mutex
	wait func(until time.Time) // nil once the request is served, since the connection may serve others then
}

func (b *patientBody) Read(to []byte) (int, error) {
	b.until(time.Now().Add(BodyPatience))
	n, err := b.ReadCloser.Read(to)
	switch {
	case err == io.EOF:
		b.until(time.Time{}) // what comes next is the server's to wait for
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrStill
	}
	return n, err
}

func (b *patientBody) until(deadline time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait != nil {
		b.wait(deadline)
	}
}

func (b *patientBody) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait = nil
}
