package offers

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// NoKeyTwice returns an error that names a key which an object in data, one JSON
// value, has twice. The standard decoder takes the last of them without a word, and
// who wrote both meant something else by one. It takes several times as long as
// decoding, so it is for what an operator sends, not for messages. Letters count as
// they are written: they tell apart the keys of a map.
func NoKeyTwice(data []byte) error {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // the next is no key
	}
	open := []level{{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number may be larger than a float
	for {
		token, err := d.Token()
		if err != nil {
			return nil // its end, or what the decoder refuses itself
		}
		in := &open[len(open)-1]
		if key, is := token.(string); is && in.keys != nil && !in.value {
			if in.keys[key] {
				return fmt.Errorf("the key %.60q is there twice", key)
			}
			in.keys[key], in.value = true, true
			continue
		}
		switch in.value = false; token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
