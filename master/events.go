package master

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

const (
	// eventPause is between two writes to one reader, so that many events cost
	// a few writes; the first after a quiet time goes out at once.
	eventPause = 50 * time.Millisecond
	// eventBeat is how often a quiet stream says that it lives, and where it is.
	eventBeat = 5 * time.Second
	// eventPatience is how long one write may take before the reader is given
	// up. Less is of no use: the kernel takes much for it.
	eventPatience = 10 * time.Second
	eventBatch    = 512      // events that are taken at once
	eventBytes    = 64 << 10 // after which they are written, though there are more
)

// events streams what changes, until the reader leaves or this master leads no
// more.
func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	ask, err := readEventsQuery(r)
	if err != nil {
		return err
	}
	p := a.glance()
	if !ask.stale {
		if p, err = a.sight(r.Context()); err != nil {
			return a.elsewhere(w, r, err)
		}
	}
	filter, err := p.eventFilter(r)
	if err != nil {
		return err
	}
	reader, err := a.feed.enter(ask.after, ask.oldest, ask.stale)
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	defer reader.leave()
	if filter.WantsMatching() {
		reader.wantMatching()
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := &eventStream{to: w, control: http.NewResponseController(w), reader: reader, filter: filter, follow: ask.follow, status: ask.status}
	begin := events.Event{Type: events.Begin, Time: time.Now().UTC(), Name: a.replica.Self().Name, Address: a.replica.Self().HTTP, Term: p.Term}
	if s.begin(begin) {
		s.run(r.Context())
	}
	return nil // the answer has begun; its end says the rest
}

// eventsQuery is how a reader wants to read.
type eventsQuery struct {
	after                         *events.ID // nil: from now on
	oldest, stale, follow, status bool
}

func readEventsQuery(r *http.Request) (q eventsQuery, err error) {
	if q.stale, err = flag(r, "stale"); err != nil {
		return q, err
	}
	if q.status, err = flag(r, "status"); err != nil {
		return q, err
	}
	q.follow = true
	if r.URL.Query().Has("follow") {
		if q.follow, err = flag(r, "follow"); err != nil {
			return q, err
		}
	}
	// The header is newer: a browser repeats the address with which it began.
	switch text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")); text {
	case "":
	case "oldest":
		q.oldest = true
	default:
		id, err := events.ParseID(text)
		if err != nil {
			return q, err
		}
		q.after = &id
	}
	return q, nil
}

// eventFilter reads what a reader wants to hear of.
func (p *picture) eventFilter(r *http.Request) (f events.Filter, err error) {
	q := r.URL.Query()
	if text := q.Get("type"); text != "" {
		if f.Types, err = events.ParseTypes(text); err != nil {
			return f, err
		}
	}
	if text := q.Get("framework"); text != "" {
		of, err := p.findFramework(text)
		if err != nil {
			return f, err
		}
		f.Framework = of.ID
	}
	if text := q.Get("agent"); text != "" {
		of, err := p.findAgent(text)
		if err != nil {
			return f, err
		}
		f.Agent = of.ID
	}
	if text := q.Get("task"); text != "" {
		t, err := p.findTask(text)
		if err != nil {
			return f, err
		}
		if f.Framework != "" && f.Framework != t.Framework {
			return f, offers.Errorf(offers.BadMessage, "task %s is not of framework %s", t.Ref(), f.Framework)
		}
		f.Framework, f.Task = t.Framework, t.ID
	}
	if text := q.Get("role"); text != "" {
		f.Role = offers.Role(text)
		if !p.knowsRole(f.Role) {
			return f, &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "there is no role %.140q: no framework is in it, and nothing was set for it", text)}
		}
	}
	return f, nil
}

func (p *picture) knowsRole(role offers.Role) bool {
	if _, set := p.State.Role(role); set {
		return true
	}
	for f := range p.State.Frameworks() {
		if f.Role == role {
			return true
		}
	}
	return false
}

// eventStream is one answer to GET /v1/events.
type eventStream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	reader  *feedReader
	filter  events.Filter
	follow  bool
	status  bool      // it wants to know how the cluster stands, too
	told    events.ID // where the reader knows that it is
	wrote   time.Time // last
}

// begin writes what every stream begins with; false when the reader has left.
func (s *eventStream) begin(e events.Event) bool {
	e.ID = s.reader.at
	text := append([]byte("retry: 1000\n\n"), e.Frame()...)
	if s.reader.gap {
		text = append(text, gap(e.ID, 0)...)
	}
	s.told = e.ID
	return s.write(text)
}

// gap tells that events were left out before the one of that id.
func gap(at events.ID, lost uint64) []byte {
	e := events.Event{
		ID: at, Type: events.Gap, Lost: lost,
		Message: "events were left out here because they are not kept any more: read the state anew",
	}
	return e.Frame()
}

func (s *eventStream) write(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(eventPatience)) // where it can't be set, a write has no limit
	s.wrote = time.Now()
	_, err := s.to.Write(text)
	return err == nil && s.control.Flush() == nil
}

// run writes events as they come.
func (s *eventStream) run(ctx context.Context) {
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }() // the connection may serve on
	list := make([]*events.Entry, eventBatch)
	var text []byte
	for {
		n, lost, news := s.reader.take(list)
		if lost > 0 {
			s.told = s.reader.at
			text = append(text, gap(s.told, lost)...)
		}
		text = s.append(text, list[:n])
		if s.status {
			text = append(text, s.reader.fresh()...)
		}
		more := n == len(list)
		if more && len(text) < eventBytes {
			continue
		}
		if len(text) == 0 && time.Since(s.wrote) >= eventBeat {
			text = s.position(text)
		}
		if !s.write(text) || !s.follow && news != nil {
			return
		}
		text = text[:0]
		wait := eventPause
		if more {
			wait = 0
		} else if news != nil {
			wait = eventBeat - time.Since(s.wrote)
		}
		if !s.wait(ctx, news, wait) {
			return
		}
	}
}

// wait waits for news or as long as that; false when the stream is over.
func (s *eventStream) wait(ctx context.Context, news <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.reader.over:
		return false
	case <-news:
	case <-t.C:
	}
	return true
}

// append adds the frames of what the reader wants and has not had.
func (s *eventStream) append(text []byte, list []*events.Entry) []byte {
	for _, e := range list {
		if s.filter.Wants(e.Event) && !s.reader.known.Covers(e.ID) {
			text = append(text, e.Frame()...)
			s.told = e.ID
		}
	}
	return text
}

// position says that the stream lives, and where it is when its filter let
// nothing through for a while: otherwise that place were soon kept no more.
func (s *eventStream) position(text []byte) []byte {
	if s.told == s.reader.at {
		return append(text, ":\n\n"...)
	}
	s.told = s.reader.at
	return append(text, events.Position(s.told)...)
}
