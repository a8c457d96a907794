// Package spell finds the word that a mistyped one was probably meant to be,
// for refusals that say "did you mean". It is pure and knows no words itself.
package spell

import "strings"

// Nearest returns the known word that word was probably meant to be, or "":
// the one with the fewest different letters, at most a third of the word's and
// one more, or one where it is that short, or else the first that begins with it.
func Nearest(word string, known []string) string {
	best, least := "", 1+len(word)/3
	if len(word) < 5 {
		least = 1 // of so few letters two are half
	}
	for _, k := range known {
		if d := distance(word, k); d <= least && len(k) > 1 {
			if d < least || best == "" {
				best, least = k, d
			}
		}
	}
	if best == "" && len(word) >= 3 {
		for _, k := range known {
			if strings.HasPrefix(k, word) {
				return k
			}
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words: the optimal string alignment, which is
// Levenshtein's distance with swaps.
func distance(a, b string) int {
	last, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			replace := row[j]
			if a[i] != b[j] {
				replace++
			}
			next[j+1] = min(replace, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
		last, row, next = row, next, last
	}
	return row[len(b)]
}
