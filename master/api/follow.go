package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/ringmaster-project/ringmaster/master/events"
)

// maxEvent bounds one line of a stream of events.
const maxEvent = 1 << 20

// Follower reads GET /v1/events and goes on where it broke off, at any master
// that leads then. It is for one goroutine.
type Follower struct {
	Client *Client
	Query  url.Values              // filters; "after" moves on with what was heard
	Hear   func(data []byte) error // each event, as JSON; an error ends the reading

	begun bool
}

// Event reads what a Follower hears.
func Event(data []byte) (e events.Event, err error) {
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("the master's event %.200q can't be read: %w", data, err)
	}
	return e, nil
}

// Run reads until ctx ends, Hear returns an error, or the masters can't be reached
// for 30 s; with follow=false in Query until everything that is kept was heard.
// Where Hear hears of events.Gap, what it knew is to be read anew.
func (r *Follower) Run(ctx context.Context) error { return Insist(ctx, r.stretch) }

// stretch reads until the stream ends. Before the first one has begun there is
// nothing to go on with.
func (r *Follower) stretch(ctx context.Context) (over, some bool, err error) {
	resp, done, err := r.Client.Stream(ctx, "/v1/events?"+r.Query.Encode())
	if err != nil {
		return !r.begun, false, err
	}
	defer done()
	r.begun = true
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	var id, data []byte
	for lines.Scan() {
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(field) == "id":
			id = bytes.Clone(value)
		case string(field) == "data":
			data = bytes.Clone(value)
		case len(lines.Bytes()) == 0 && id != nil:
			if len(data) > 0 {
				if err := r.Hear(data); err != nil {
					return true, true, err
				}
			}
			r.Query.Set("after", string(id))
			some, id, data = true, nil, nil
		}
	}
	if lines.Err() != nil {
		return false, some, Broke(lines.Err())
	}
	if r.Query.Get("follow") == "false" {
		return true, some, nil
	}
	return false, some, Broke(io.EOF)
}
