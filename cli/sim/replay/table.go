package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table reads a CSV file with a heading, row by row, and says of what is wrong
// where it stands: FILE:LINE:COLUMN.
type table struct {
	name    string
	csv     *csv.Reader
	columns map[string]int // by the name that the caller uses
	row     []string
	err     error // the first; nothing is read after it
}

// column is one that is looked for, under any of its names.
type column struct {
	name     string
	also     []string
	optional bool
	with     string // "", or the optional column with which it must be there
}

// openTable reads the heading. Columns that are not asked for are passed over.
func openTable(name string, r io.Reader, wanted ...column) (*table, error) {
	t := &table{name: name, csv: csv.NewReader(&lines{from: r}), columns: map[string]int{}}
	t.csv.ReuseRecord = true
	heading, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty", name)
	}
	if err != nil {
		return nil, t.broken(err)
	}
	for i := range heading {
		if heading[i] = strings.TrimSpace(strings.TrimPrefix(heading[i], "\ufeff")); !utf8.ValidString(heading[i]) {
			line, column := t.csv.FieldPos(i)
			return nil, t.broken(&fault{line, column, noText})
		}
	}
	for _, c := range wanted {
		at := slices.IndexFunc(heading, func(h string) bool { return h == c.name || slices.Contains(c.also, h) })
		if at < 0 && !c.optional && (c.with == "" || t.has(c.with)) {
			return nil, fmt.Errorf("%s:1:1: there is no column %s; the heading is %s", name, either(c), clip(strings.Join(heading, ",")))
		}
		if again := slices.IndexFunc(heading[at+1:], func(h string) bool { return h == c.name || slices.Contains(c.also, h) }); at >= 0 && again >= 0 {
			line, column := t.csv.FieldPos(at + 1 + again)
			return nil, fmt.Errorf("%s:%d:%d: the column %s is there twice", name, line, column, either(c))
		}
		t.columns[c.name] = at
	}
	return t, nil
}

// clip cuts a heading that is too long to be shown.
func clip(heading string) string {
	if runes := []rune(heading); len(runes) > maxHeading {
		return string(runes[:maxHeading]) + "..."
	}
	return heading
}

const maxHeading = 200

func either(c column) string { return strings.Join(append([]string{c.name}, c.also...), " or ") }

// next goes on to the next row; false at the end and after an error.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return false
	}
	if errors.Is(err, csv.ErrFieldCount) {
		line, _ := t.csv.FieldPos(0)
		t.err = fmt.Errorf("%s:%d:1: the row has %s, and the heading %d", t.name, line, fields(len(row)), t.csv.FieldsPerRecord)
		return false
	}
	if err != nil {
		t.err = t.broken(err)
		return false
	}
	t.row = row
	return true
}

func fields(n int) string {
	if n == 1 {
		return "1 field"
	}
	return fmt.Sprintf("%d fields", n)
}

// broken says a fault of the CSV itself.
func (t *table) broken(err error) error {
	var at *csv.ParseError
	var placed *fault
	switch {
	case errors.As(err, &at):
		return fmt.Errorf("%s:%d:%d: %w", t.name, at.Line, at.Column, at.Err)
	case errors.As(err, &placed):
		return fmt.Errorf("%s:%w", t.name, placed)
	}
	return fmt.Errorf("%s: %w", t.name, err)
}

// text returns a field of the row, "" where the column is not there.
func (t *table) text(name string) string {
	if at := t.columns[name]; at >= 0 {
		return strings.TrimSpace(t.row[at])
	}
	return ""
}

// has reports whether a column is there.
func (t *table) has(name string) bool { return t.columns[name] >= 0 }

// number returns a field as a whole number from least to most; empty is 0.
func (t *table) number(name string, least, most int64) int64 {
	text := t.text(name)
	if text == "" && least <= 0 {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		t.fail(name, fmt.Errorf("%q is not a whole number", text))
	case n < least || n > most:
		t.fail(name, fmt.Errorf("%d is not between %d and %d", n, least, most))
	}
	return n
}

// fail says what is wrong with a field of the row, unless something else was
// wrong before.
func (t *table) fail(name string, err error) {
	if t.err != nil {
		return
	}
	line, column := t.csv.FieldPos(max(t.columns[name], 0))
	t.err = fmt.Errorf("%s:%d:%d: %s: %w", t.name, line, column, name, err)
}
