package cli

import (
	"fmt"
	"strings"
	"testing"
)

// drawn is what a screen shows after it was told all of texts: it knows what
// overdraw tells one.
func drawn(t *testing.T, columns, rows int, texts ...string) string {
	t.Helper()
	screen := make([][]rune, rows)
	for i := range screen {
		screen[i] = []rune(strings.Repeat("#", columns)) // what was there before
	}
	for n, text := range texts {
		row, column := 0, 0
		clear := func(r, from int) {
			for c := from; c < columns; c++ {
				screen[r][c] = ' '
			}
		}
		for _, part := range strings.Split(string(overdraw([]byte(text), columns, rows, n == 0)), "\x1b[")[1:] {
			end := strings.IndexAny(part, "HKJhlm")
			switch part[end] {
			case 'H':
				row, column = 0, 0
			case 'K':
				clear(row, column)
			case 'J':
				clear(row, column)
				for r := row + 1; r < rows; r++ {
					clear(r, 0)
				}
			}
			for _, c := range part[end+1:] {
				switch {
				case c == '\r':
					column = 0
					continue
				case c != '\n' && column < columns:
					screen[row][column] = c
					column++
					continue
				case c != '\n':
					column = 1
				}
				if row++; row == rows {
					t.Fatalf("%q scrolls a screen of %d rows", text, rows)
				}
				if c != '\n' {
					screen[row][0] = c
				}
			}
		}
	}
	var out []string
	for _, line := range screen {
		out = append(out, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(out, "|"), "|")
}

// TestPictureIsDrawnOver: nothing of the old picture is left, nothing scrolls,
// and what does not fit is said.
func TestPictureIsDrawnOver(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"a\nb\n"}, "a|b"},
		{[]string{"long one\nb\nc\n", "x\n"}, "x"},
		{[]string{"a\n\nb\n", "a\nx\nb\n", "a\n\nb\n"}, "a||b"},
		{[]string{"\x1b[32mrunning\x1b[0m\n"}, "running"},
		{[]string{"0123456789\nb\n"}, "0123456789|b"},
		{[]string{"0123456789abc\nb\n"}, "0123456789|abc|b"},
		{[]string{"1\n2\n3\n4\n"}, "1|2|3|4"},
		{[]string{"1\n2\n3\n4\n5\n"}, "1|2|3|... and m"},
		{[]string{"1\n2\n3\n4\n5\n", "1\n"}, "1"},
		{[]string{"1\n2\n0123456789abc\n4\n"}, "1|2|... and m"},
	} {
		if got := drawn(t, 10, 5, c.texts...); got != c.want {
			t.Errorf("%q shows %q, want %q", c.texts, got, c.want)
		}
	}
	for rows := range 3 {
		for columns := range 3 {
			if rows > 0 && columns > 0 {
				_ = drawn(t, columns, rows, "a\nb\nc\n") // no screen is too small to be drawn on
			}
		}
	}
}

// TestPagesThatNobodySeesAreNotAskedFor: 100,000 tasks that are watched cost no
// more than a screen of them.
func TestPagesThatNobodySeesAreNotAskedFor(t *testing.T) {
	p := &page{enough: 3}
	for n := range 10 {
		if p.full() {
			if n != 4 {
				t.Errorf("it is full after %d lines, want 4: one more than is seen tells that there is more", n)
			}
			return
		}
		fmt.Fprintf(&p.text, "%d\n", n)
	}
	t.Error("it is never full")
}
