// Package scan goes over JSON without decoding it, for readers that want a few
// fields of much. It is pure, and does not hold what it passes over to be JSON:
// whoever reads with it decodes what is not as plain as it expects with
// encoding/json, which has the last word.
package scan

import "bytes"

// Scanner is the place in a text up to which it was read.
type Scanner struct{ rest []byte }

// Over begins in front of a text, which the scanner does not change.
func Over(text []byte) Scanner { return Scanner{text} }

func (s *Scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// Next takes a character, if it is that one.
func (s *Scanner) Next(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// Done reports whether nothing is left.
func (s *Scanner) Done() bool {
	s.space()
	return len(s.rest) == 0
}

// Text takes a text without escapes.
func (s *Scanner) Text() ([]byte, bool) {
	if !s.Next('"') {
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

// Value takes one value of an object or an array, or what would be one if its
// brackets were right, and returns how it is written.
func (s *Scanner) Value() ([]byte, bool) {
	s.space()
	for depth, i := 0, 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			n := quoted(s.rest[i+1:])
			if n < 0 {
				return nil, false
			}
			i += n
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				value := s.rest[:i]
				s.rest = s.rest[i:]
				return value, i > 0
			}
			if s.rest[i] != ',' {
				depth--
			}
		}
	}
	return nil, false
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
