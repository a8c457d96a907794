package wire

import "bytes"

// peek finds the envelope of a frame without reading the rest, which is not
// held to be JSON by that. ok is false where the envelope is not plain to see:
// for anything but an object of plain keys with a type, and where a value of the
// envelope is no text or has an escape in it. Of a key that comes twice the
// last counts, and its letters may be large, as for encoding/json.
func peek(frame []byte) (env Envelope, ok bool) {
	s := scanner{rest: frame}
	if !s.next('{') {
		return env, false
	}
	for more := true; more; more = s.next(',') {
		key, plain := s.text()
		if !plain || !s.next(':') {
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
			if !s.skip() {
				return env, false
			}
			continue
		}
		value, plain := s.text()
		if !plain {
			return env, false
		}
		*to = string(value)
	}
	return env, s.next('}') && s.done() && env.Type != ""
}

func ascii(text []byte) bool {
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// scanner goes over JSON that may be none.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// next takes a character, if it is that one.
func (s *scanner) next(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) done() bool {
	s.space()
	return len(s.rest) == 0
}

// text takes a text without escapes.
func (s *scanner) text() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	n := bytes.IndexByte(s.rest, '"')
	if n < 0 || bytes.IndexByte(s.rest[:n], '\\') >= 0 {
		return nil, false
	}
	text := s.rest[:n]
	s.rest = s.rest[n+1:]
	return text, true
}

// skip takes one value, or what would be one if its brackets were right.
func (s *scanner) skip() bool {
	s.space()
	for depth, i := 0, 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			n := quoted(s.rest[i+1:])
			if n < 0 {
				return false
			}
			i += n
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				s.rest = s.rest[i:]
				return i > 0
			}
			if s.rest[i] != ',' {
				depth--
			}
		}
	}
	return false
}

// quoted returns how long the rest of a text is, with its last quote; -1 where
// it has none.
func quoted(rest []byte) int {
	for i := 0; i < len(rest); i++ {
		n := bytes.IndexByte(rest[i:], '"')
		if n < 0 {
			return -1
		}
		escape := bytes.IndexByte(rest[i:i+n], '\\')
		if escape < 0 {
			return i + n + 1
		}
		i += escape + 1 // and what it escapes
	}
	return -1
}
