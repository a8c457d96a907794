package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// watchEvery is how often --watch asks.
const watchEvery = time.Second

// watch writes what render returns whenever it changed: over the old picture
// on a terminal, as much as fits it, and below it elsewhere. A failure is shown
// and passes; the end of the context is a good end.
func watch(c *cli.Context, render func() ([]byte, error)) error {
	var last []byte
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		text, err := render()
		if err != nil && c.Context.Err() == nil {
			text = fmt.Appendf(nil, "ringmaster: %v\n", err)
		}
		if columns, rows := screenOf(c.App.Writer); rows > 0 {
			text = overdraw(text, columns, rows, last == nil)
		}
		if c.Context.Err() == nil && !bytes.Equal(text, last) {
			if _, err := c.App.Writer.Write(text); err != nil {
				return err
			}
			last = text
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-tick.C:
		}
	}
}

// screenOf returns the size of the terminal that w is, or twice 0.
func screenOf(w io.Writer) (columns, rows int) {
	if !isTerminal(w) {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// What a terminal is told. One that does not know how to hold back a picture
// until it is whole passes over that.
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K" // from the cursor on
	clearRest = "\x1b[J" // from the cursor to the end of the screen
	holdBack  = "\x1b[?2026h"
	letGo     = "\x1b[?2026l"
)

// overdraw returns what draws text over what is on a screen of that size: each
// line where the old one was, so that nothing flickers and nothing scrolls. Of
// what is too much the last row says so. The first picture clears what was
// there before, which may be under it elsewhere.
func overdraw(text []byte, columns, rows int, first bool) []byte {
	out := bytes.NewBufferString(holdBack + home)
	if first {
		out.WriteString(clearRest)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var taken []int // rows of each line
	sum := 0
	for _, line := range lines {
		n := max(1, (shownWidth(line)+columns-1)/max(columns, 1))
		taken, sum = append(taken, n), sum+n
	}
	whole := sum <= rows-1 // the cursor needs a row
	left := rows - 1
	for i, line := range lines {
		if taken[i] > left || !whole && taken[i] > left-1 {
			break
		}
		left -= taken[i]
		out.Write(line)
		if shownWidth(line)%max(columns, 1) != 0 || len(line) == 0 {
			out.WriteString(clearLine)
		}
		out.WriteString("\r\n")
	}
	if !whole && left > 0 {
		more := "... and more than fits here; ringmaster top scrolls"
		fmt.Fprintf(out, "%s%s\r\n", more[:min(len(more), max(columns-1, 0))], clearLine)
	}
	out.WriteString(clearRest + letGo)
	return out.Bytes()
}

// shownWidth is how many columns a line takes, in which colours take none.
func shownWidth(line []byte) int {
	n := 0
	for len(line) > 0 {
		if line[0] == '\x1b' {
			end := bytes.IndexByte(line, 'm')
			if end < 0 {
				return n
			}
			line = line[end+1:]
			continue
		}
		_, size := utf8.DecodeRune(line)
		line, n = line[size:], n+1
	}
	return n
}
