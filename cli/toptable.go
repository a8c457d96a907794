package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// topTable is what a view of top lists.
type topTable struct {
	heading row
	rows    []row
	key     func(row) string // names what a row is about
}

// stand is how somebody looks at a table: what is left out, in which order, and
// which row is chosen.
type stand struct {
	filter string // what a row must hold, whatever the case
	sort   string // heading of a column; "" is the order of the masters
	down   bool   // the largest first
	chosen string // key of the row
	at     int    // its place among the rows that are left
	first  int    // the first of these on the screen
}

// arrangement is a table as one stand sees it.
type arrangement struct {
	keys   []string
	lines  []row // without the heading
	head   row
	widths []int
}

// arrange lays the rows that s leaves, in its order, for a page, and keeps the
// chosen row chosen where it still is. A call costs one look at every cell and
// a sort.
func (s *stand) arrange(t topTable, p *page) arrangement {
	if len(t.heading) == 0 {
		return arrangement{}
	}
	rows := make([]row, 0, len(t.rows))
	wanted := strings.ToLower(s.filter)
	for _, r := range t.rows {
		if wanted == "" || slices.ContainsFunc(r, func(c string) bool { return strings.Contains(strings.ToLower(c), wanted) }) {
			rows = append(rows, r)
		}
	}
	heading := slices.Clone(t.heading)
	if column := s.column(t.heading); column >= 0 {
		slices.SortStableFunc(rows, func(a, b row) int { return compareCells(a[column], b[column]) })
		if s.down {
			slices.Reverse(rows)
		}
		heading[column] += map[bool]string{false: "↑", true: "↓"}[s.down]
	}
	out := arrangement{keys: make([]string, len(rows))}
	for i, r := range rows {
		out.keys[i] = t.key(r)
	}
	lines, widths := p.lay(p.columns(heading, rows), heading, rows)
	out.head, out.lines, out.widths = lines[0], lines[1:], widths
	if i := slices.Index(out.keys, s.chosen); i >= 0 {
		s.at = i
	}
	s.choose(&out, s.at)
	return out
}

// column is where the heading has what is sorted by, -1 where it has not.
func (s *stand) column(heading row) int {
	if s.sort == "" {
		return -1
	}
	return slices.IndexFunc(heading, func(h string) bool { return strings.TrimPrefix(h, "+") == s.sort })
}

// choose makes the row at i the chosen one, or the nearest that is there.
func (s *stand) choose(a *arrangement, i int) {
	s.at = max(0, min(i, len(a.keys)-1))
	s.chosen = ""
	if s.at < len(a.keys) {
		s.chosen = a.keys[s.at]
	}
}

// scroll moves the screen of so many rows just as far as the chosen one asks.
func (s *stand) scroll(rows, screen int) {
	s.first = min(s.first, s.at)
	s.first = max(s.first, s.at-screen+1)
	s.first = max(0, min(s.first, rows-screen))
}

// resort sorts by the column that is step columns on among those shown.
func (s *stand) resort(heading row, step int, wide bool) {
	var known []string
	for _, h := range heading {
		if name := strings.TrimPrefix(h, "+"); name != "" && (wide || name == h) {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		return
	}
	at := slices.Index(known, s.sort)
	if at < 0 && step < 0 {
		at = 0
	}
	s.sort, s.down = known[(at+step+len(known))%len(known)], false
}

// compareCells orders cells as people do: nothing, then amounts by what they
// are worth, then words, the numbers in them by their size.
func compareCells(a, b string) int {
	rank := func(text string) (int, float64) {
		if text == "" || text == "-" {
			return 0, 0
		}
		if n, ok := worth(text); ok {
			return 1, n
		}
		return 2, 0
	}
	kindA, amountA := rank(a)
	kindB, amountB := rank(b)
	return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(amountA, amountB), compareWords(a, b))
}

// units are those that the tables write, each with its factor.
var units = map[string]float64{
	"": 1, "%": 1, "s": 1, "m": 60, "h": 3600, "d": 86400,
	"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
	"bps": 1, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12,
}

// worth reads the amount that a cell shows, of "used/total" what is used: 1.5/8,
// 512MiB, 12.5%, 1d2h.
func worth(text string) (sum float64, ok bool) {
	text, _, _ = strings.Cut(text, "/")
	for ok = text != ""; ok && text != ""; {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
		unit := len(text[digits:])
		if i := strings.IndexAny(text[digits:], "0123456789."); i >= 0 {
			unit = i
		}
		factor, known := units[text[digits:digits+unit]]
		n, err := strconv.ParseFloat(text[:digits], 64)
		ok = known && err == nil
		sum, text = sum+n*factor, text[digits+unit:]
	}
	return sum, ok
}

// compareWords compares texts, the whole numbers in them by their size:
// worker-9 is before worker-10.
func compareWords(a, b string) int {
	for a != "" && b != "" {
		numberA, numberB := leadingDigits(a), leadingDigits(b)
		var c int
		if numberA != "" && numberB != "" {
			plainA, plainB := strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
			c = cmp.Or(cmp.Compare(len(plainA), len(plainB)), cmp.Compare(plainA, plainB), cmp.Compare(len(numberA), len(numberB)))
			a, b = a[len(numberA):], b[len(numberB):]
		} else {
			c = cmp.Compare(a[0], b[0])
			a, b = a[1:], b[1:]
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}
