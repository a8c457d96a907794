package wire

import (
	"bytes"

	"github.com/ringmaster-project/ringmaster/offers/scan"
)

// peek finds the envelope of a frame without reading the rest, which is not
// held to be JSON by that. ok is false where the envelope is not plain to see:
// for anything but an object of plain keys with a type, and where a value of the
// envelope is no text or has an escape in it. Of a key that comes twice the
// last counts, and its letters may be large, as for encoding/json.
func peek(frame []byte) (env Envelope, ok bool) {
	s := scan.Over(frame)
	if !s.Next('{') {
		return env, false
	}
	for more := true; more; more = s.Next(',') {
		key, plain := s.Text()
		if !plain || !s.Next(':') {
			return env, false
		}
		var to *string
		switch {
		case !ascii(key): // it might be a key of ours, with other letters
			return env, false
		case bytes.EqualFold(key, []byte("type")):
			to = &env.Type
		case bytes.EqualFold(key, []byte("request_id")):
			to = &env.RequestID
		}
		if to == nil {
			if _, plain := s.Value(); !plain {
				return env, false
			}
			continue
		}
		value, plain := s.Text()
		if !plain {
			return env, false
		}
		*to = string(value)
	}
	return env, s.Next('}') && s.Done() && env.Type != ""
}

func ascii(text []byte) bool {
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}
