package trie

import "strings"

// Path is the key of a record: the texts that are not empty, the first alone
// being one. As a prefix it stands for all keys that begin with its texts.
type Path [3]string

// keySpace holds most keys, so that a lookup builds its key on the stack.
const keySpace = 224

// appendTo appends the key as it is in the tree.
func (p *Path) appendTo(key []byte) []byte {
	for _, text := range p {
		if text == "" {
			break
		}
		key = append(append(key, text...), 0)
	}
	return key
}

// within reports whether p begins with the texts of prefix.
func (p *Path) within(prefix *Path) bool {
	for i, text := range prefix {
		if text != "" && p[i] != text {
			return false
		}
	}
	return true
}

// compare orders paths of as many texts as their keys are ordered.
func (p *Path) compare(q *Path) int {
	for i := range p {
		if c := strings.Compare(p[i], q[i]); c != 0 {
			return c
		}
	}
	return 0
}
