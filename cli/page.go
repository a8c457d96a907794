package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// page is text on its way to a reader: tables that fit the width, colour only
// where somebody sees it.
type page struct {
	text   bytes.Buffer
	width  int  // columns; 0 is no limit
	wide   bool // show the columns of -o wide, and nothing cut off
	color  bool
	now    time.Time // from which ages are told
	early  io.Writer // takes text before all of it is there; nil: it is kept until then
	enough int       // rows of the screen that are looked at again and again: what is below is not seen; 0: all is
}

func newPage(c *cli.Context) *page {
	p := &page{wide: c.String("output") == "wide", now: time.Now()}
	if !isTerminal(c.App.Writer) {
		return p
	}
	f := c.App.Writer.(*os.File)
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && !p.wide {
		p.width = w
	}
	p.color = os.Getenv("NO_COLOR") == "" && !c.Bool("no-color") && os.Getenv("TERM") != "dumb"
	return p
}

// isTerminal reports whether people see what is written there as it comes.
func isTerminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// pass gives away what was written so far, where somebody takes it.
func (p *page) pass() error {
	if p.early == nil {
		return nil
	}
	_, err := p.text.WriteTo(p.early)
	return err
}

// full reports whether what would follow is not seen.
func (p *page) full() bool {
	return p.enough > 0 && bytes.Count(p.text.Bytes(), []byte("\n")) > p.enough
}

// row is one line of a table.
type row []string

// minColumn is how far a column is cut at most to make a table fit; where that is
// not enough the last columns are left out.
const minColumn = 6

// more stands in the heading for columns that are left out.
const more = "…"

// table writes rows under a heading. A heading that starts with "+" is a
// column of -o wide.
func (p *page) table(heading row, rows []row) {
	lines, widths := p.lay(p.columns(heading, rows), heading, rows)
	for n, line := range lines {
		p.line(line, widths, n == 0)
	}
}

// longTable is a table whose rows come by and by. The first ones say which
// columns are shown and how wide they are; without a terminal to fit they may grow.
type longTable struct {
	page    *page
	columns []int // nil before the first rows, as widths
	widths  []int
}

func (t *longTable) add(heading row, rows []row) {
	begun := t.widths != nil
	if !begun {
		t.columns = t.page.columns(heading, rows)
	}
	lines, widths := t.page.lay(t.columns, heading, rows)
	if !begun {
		t.widths = widths
	}
	for i := range widths {
		if t.page.width == 0 {
			t.widths[i] = max(t.widths[i], widths[i])
		}
	}
	for n, line := range lines {
		if n > 0 || !begun {
			t.page.line(line, t.widths, n == 0)
		}
	}
}

// columns returns which columns of a table are shown, with leftOut behind them
// where some don't fit.
func (p *page) columns(heading row, rows []row) []int {
	var shown []int
	for i, h := range heading {
		if !strings.HasPrefix(h, "+") || p.wide {
			shown = append(shown, i)
		}
	}
	if p.width == 0 {
		return shown
	}
	least := make([]int, len(shown)) // how wide each is when it is cut, and what is between
	total := -2
	for j, i := range shown {
		widest := utf8.RuneCountInString(strings.TrimPrefix(heading[i], "+"))
		for _, r := range rows {
			widest = max(widest, utf8.RuneCountInString(cell(r, i)))
		}
		least[j] = min(widest, minColumn) + 2
		total += least[j]
	}
	if total <= p.width {
		return shown
	}
	total += utf8.RuneCountInString(more) + 2
	n := len(shown)
	for ; n > 1 && total > p.width; n-- {
		total -= least[n-1]
	}
	return append(shown[:n], leftOut)
}

// leftOut is no column's number.
const leftOut = -1

// lay returns the lines of a table, the heading in front, and how wide the
// columns are that are shown.
func (p *page) lay(shown []int, heading row, rows []row) (lines []row, widths []int) {
	lines = make([]row, 0, len(rows)+1)
	cells := make([]string, len(shown)*(len(rows)+1)) // of all lines
	for n, r := range append([]row{heading}, rows...) {
		line := row(cells[n*len(shown):][:len(shown)])
		for j, i := range shown {
			switch {
			case i == leftOut && n == 0:
				line[j] = more
			case i == leftOut:
			case n == 0:
				line[j] = strings.TrimPrefix(cell(r, i), "+")
			default:
				line[j] = cmp.Or(cell(r, i), "-")
			}
		}
		lines = append(lines, line)
	}
	return lines, p.fit(lines)
}

func cell(r row, i int) string {
	if i < len(r) {
		return plain(r[i])
	}
	return ""
}

// plain is text that a terminal only shows: what tasks say must not steer it.
func plain(text string) string {
	i := 0
	for i < len(text) && ' ' <= text[i] && text[i] <= '~' {
		i++
	}
	if i == len(text) { // as most is
		return text
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
}

// fit returns the widths of the columns, the widest cut until all fit.
func (p *page) fit(lines []row) []int {
	widths := make([]int, len(lines[0]))
	total := 2 * (len(widths) - 1)
	for i := range widths {
		for _, l := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(l[i]))
		}
		total += widths[i]
	}
	for p.width > 0 && total > p.width {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

func (p *page) line(line row, widths []int, heading bool) {
	begin := p.text.Len()
	for i, text := range line {
		n, code := utf8.RuneCountInString(text), hue(text, heading)
		if n > widths[i] {
			text, n = cut(text, widths[i], i == 0), widths[i]
		}
		p.text.WriteString(p.ink(code, text))
		for pad := widths[i] - n + 2; pad > 0 && i < len(line)-1; pad-- {
			p.text.WriteByte(' ')
		}
	}
	p.text.Truncate(begin + len(bytes.TrimRight(p.text.Bytes()[begin:], " ")))
	p.text.WriteByte('\n')
}

// keptEnd is how much is kept of the end of an id that is cut: the number in a
// row of alike ones.
const keptEnd = 3

// cut shortens text to width columns; of an id the end stays too, by which those
// of one framework differ.
func cut(text string, width int, id bool) string {
	runes := []rune(text)
	end := ""
	if id && width > 2*keptEnd {
		end = string(runes[len(runes)-keptEnd:])
	}
	return string(runes[:width-1-utf8.RuneCountInString(end)]) + "…" + end
}

// paint colours the words that say how something is.
func (p *page) paint(text string, heading bool) string { return p.ink(hue(text, heading), text) }

// hue is the attribute of such a word, "" of any other.
func hue(text string, heading bool) string {
	switch {
	case heading:
		return "1"
	case text == "running" || text == "active" || text == "finished" || text == "leader":
		return "32"
	case text == "failed" || text == "gone" || text == "rejected" || text == "dropped":
		return "31"
	case text == "unreachable" || text == "killing" || text == "killed" || text == "draining" || text == "drained":
		return "33"
	}
	return ""
}

// ink writes text in a colour, or another attribute, where that is seen.
func (p *page) ink(code, text string) string {
	if !p.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// fields writes "name  value" lines, empty values left out.
func (p *page) fields(pairs ...string) {
	widest := 0
	for i := 0; i < len(pairs); i += 2 {
		widest = max(widest, len(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.printf("%-*s  %s\n", widest, pairs[i], p.paint(plain(pairs[i+1]), false))
		}
	}
}
