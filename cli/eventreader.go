package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/url"
)

// maxEvent bounds one line of a stream of events.
const maxEvent = 1 << 20

// eventReader reads GET /v1/events and goes on where it broke off.
type eventReader struct {
	client *client
	query  url.Values
	hear   func(data []byte) error // each event; an error ends the reading

	begun bool
}

func (r *eventReader) run(ctx context.Context) error { return insist(ctx, r.stretch) }

// stretch reads until the stream ends. Before the first one has begun there is
// nothing to go on with.
func (r *eventReader) stretch(ctx context.Context) (over, some bool, err error) {
	resp, done, err := r.client.stream(ctx, "/v1/events?"+r.query.Encode())
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
				if err := r.hear(data); err != nil {
					return true, true, err
				}
			}
			r.query.Set("after", string(id))
			some, id, data = true, nil, nil
		}
	}
	if lines.Err() != nil {
		return false, some, broke(lines.Err())
	}
	if r.query.Get("follow") == "false" {
		return true, some, nil
	}
	return false, some, broke(io.EOF)
}
