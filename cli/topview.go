package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ringmaster-project/ringmaster/master/api"
)

const (
	mark     = "> " // before the chosen row
	topKeys  = "1-4 view  ↑↓ move  enter detail  / filter  < > sort  r reverse  ? keys  q end"
	oneKeys  = "esc back  ↑↓ scroll  1-4 view  w wide  ? keys  q end"
	editKeys = "enter keeps the filter  esc drops it"
	helpKeys = "any key goes back  q end"

	leastWidth, leastHeight = 40, 10

	// leastRows is how many rows of a table are left before bars are drawn.
	leastRows = 6
	// topSilence is after how long without an answer the header says so.
	topSilence = 3 * topEvery
)

// topHelp is what each key does, in no more lines than the smallest terminal has
// above the footer.
var topHelp = [][2]string{
	{"1-4 tab", "another view"},
	{"↑↓ j k", "move, a screen by pgup pgdn"},
	{"home end", "the first, the last"},
	{"enter esc", "all of one thing, and back"},
	{"/ esc", "filter, and drop it"},
	{"< >", "sort by another column"},
	{"r", "sort the other way round"},
	{"w", "more columns, or fewer"},
	{"q", "end"},
}

func (m *topModel) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	return v
}

// screen returns the lines of the terminal, none of them wider than it.
func (m *topModel) screen() []string {
	if m.width < leastWidth || m.height < leastHeight {
		return m.clip([]string{fmt.Sprintf("%dx%d is too small a", m.width, m.height), fmt.Sprintf("terminal: top needs %dx%d", leastWidth, leastHeight)})
	}
	lines := helpLines()
	if !m.helping {
		lines = append(append(m.header(), m.tabs()), m.body()...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return m.clip(append(lines, m.footer()))
}

// helpLines says what the keys do.
func helpLines() []string {
	var lines []string
	for _, k := range topHelp {
		lines = append(lines, fmt.Sprintf("%-10s %s", k[0], k[1]))
	}
	return lines
}

func (m *topModel) clip(lines []string) []string {
	lines = lines[:min(len(lines), m.height)]
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return lines
}

// room is how many lines are left for rows, or for the text of one thing.
func (m *topModel) room() int {
	const tabs, heading, footer = 1, 1, 1
	return max(1, m.height-len(m.header())-tabs-heading-footer)
}

// header says how the cluster is.
func (m *topModel) header() []string {
	p := m.page()
	lines := []string{m.ends(m.leader(p), m.clock(p))}
	if s := m.status; s != nil {
		lines = append(lines, fmt.Sprintf("%s  %s   %s  %s   %s  %s", p.ink("1", "agents"), counts(s.Agents, agentOrder...),
			p.ink("1", "frameworks"), fmt.Sprint(s.Frameworks), p.ink("1", "tasks"), counts(s.Tasks, taskOrder...)))
		bars := m.bars(p, s)
		lines = append(lines, bars[:max(0, min(len(bars), m.height-leastRows-6))]...)
		waits := "nothing"
		if len(s.Pending) > 0 {
			waits = p.ink("33", counts(s.Pending))
		}
		lines = append(lines, p.ink("1", "waiting")+"  "+waits)
	}
	if m.err != nil {
		lines = append(lines, p.ink("31", plain(m.err.Error())))
	}
	return lines
}

func (m *topModel) leader(p *page) string {
	if m.status == nil {
		return p.ink("1", "ringmaster") + "  asking the masters"
	}
	return p.ink("1", "leader") + "  " + leaderOf(m.status) + "   " + p.ink("1", "masters") + "  " + mastersCount(m.status.Masters)
}

// clock is the time, or since when nobody has answered.
func (m *topModel) clock(p *page) string {
	if silent := m.now.Sub(m.heard); m.status != nil && (m.err != nil || silent >= topSilence) && silent >= topEvery {
		return p.ink("31", "no answer for "+age(m.now, m.heard))
	}
	return m.now.Format(time.TimeOnly)
}

// ends writes a line with something at both ends, where there is room for both.
func (m *topModel) ends(left, right string) string {
	gap := m.width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 2 {
		left = ansi.Truncate(left, max(0, m.width-ansi.StringWidth(right)-2), "…")
		gap = m.width - ansi.StringWidth(left) - ansi.StringWidth(right)
	}
	return left + strings.Repeat(" ", max(0, gap)) + right
}

// level is how much of one kind is used and offered.
type level struct {
	kind                 string
	total, used, offered float64
	amount               func(float64) string
}

// levels are those of the kinds that the cluster has.
func levels(total, used, offered api.Amounts) []level {
	cores := func(r api.Amounts) float64 { n, _ := r.CPUs.Float64(); return n }
	sized := func(n float64) string { return size(int64(n)) }
	number := func(n float64) string { return fmt.Sprintf("%.4g", n) }
	all := []level{
		{"cpus", cores(total), cores(used), cores(offered), number},
		{"mem", float64(total.Mem), float64(used.Mem), float64(offered.Mem), sized},
		{"disk", float64(total.Disk), float64(used.Disk), float64(offered.Disk), sized},
		{"bandwidth", float64(total.Bandwidth), float64(used.Bandwidth), float64(offered.Bandwidth), func(n float64) string { return bits(int64(n)) }},
	}
	for _, class := range slices.Sorted(maps.Keys(total.Devices)) {
		t, u, o := total.Devices[class], used.Devices[class], offered.Devices[class]
		if t.Memory > 0 {
			all = append(all, level{class, float64(t.Memory), float64(u.Memory), float64(o.Memory), sized})
			continue
		}
		all = append(all, level{class, float64(t.Count), float64(u.Count), float64(o.Count), number})
	}
	return slices.DeleteFunc(all, func(l level) bool { return l.total <= 0 })
}

const barCells, kindCells = 12, 9

// draw writes a level: used, offered and free as parts of a bar.
func (l level) draw(p *page) string {
	used := cells(l.used / l.total)
	offered := min(cells(l.offered/l.total), barCells-used)
	bar := p.ink("32", strings.Repeat("█", used)) + p.ink("33", strings.Repeat("▒", offered)) + strings.Repeat("·", barCells-used-offered)
	text := fmt.Sprintf("%s of %s", l.amount(l.used), l.amount(l.total))
	if l.offered > 0 {
		text = fmt.Sprintf("%s+%s of %s", l.amount(l.used), l.amount(l.offered), l.amount(l.total))
	}
	return fmt.Sprintf("%-*s %s %s", kindCells, ansi.Truncate(l.kind, kindCells, "…"), bar, text)
}

// cells is a part of a bar; what is there is seen.
func cells(part float64) int {
	n := int(part*barCells + 0.5)
	if part > 0 {
		n = max(n, 1)
	}
	return max(0, min(n, barCells))
}

// bars are the levels of the cluster, two a line where they fit.
func (m *topModel) bars(p *page, s *api.Status) []string {
	var lines []string
	half := m.width / 2
	for i, l := range levels(s.Total, s.Used, s.Offered) {
		text := l.draw(p)
		if i%2 == 1 && m.width >= 2*leastWidth {
			left := ansi.Truncate(lines[len(lines)-1], half-2, "…")
			lines[len(lines)-1] = left + strings.Repeat(" ", max(0, half-ansi.StringWidth(left))) + text
			continue
		}
		lines = append(lines, text)
	}
	return lines
}

// tabs names the views, and says what of this one is seen.
func (m *topModel) tabs() string {
	p := m.page()
	var parts []string
	for i, v := range topViews {
		name := fmt.Sprintf(" %d:%s ", i+1, v.name)
		if i == m.view {
			name = p.ink("1", fmt.Sprintf("[%d:%s]", i+1, v.name))
		}
		parts = append(parts, name)
	}
	left, s := strings.Join(parts, ""), m.stands[m.view]
	n, first := len(m.shown.keys), s.first
	switch {
	case m.open != "":
		left, n, first = left+"  "+topViews[m.view].one+" "+plain(m.open), len(m.text), m.scrolly
	case m.typing:
		left += "  /" + s.filter + "_"
	case s.filter != "":
		left += "  /" + s.filter
	}
	if n == 0 {
		return left
	}
	last := min(n, first+m.room())
	right := fmt.Sprintf("%d-%d of %d", first+1, last, n)
	if all := len(m.tables[m.view].rows); m.open == "" && all != n {
		right += fmt.Sprintf(" (%d)", all)
	}
	return m.ends(left, right)
}

// body is the rows of the view, or the text of one thing, under a heading.
func (m *topModel) body() []string {
	if m.open != "" {
		if m.detail == nil {
			return []string{"", "  asking the masters"}
		}
		last := min(len(m.text), m.scrolly+m.room())
		return append([]string{""}, indented(m.text[m.scrolly:last])...)
	}
	if len(m.tables[m.view].heading) == 0 {
		return []string{"", "  asking the masters"}
	}
	if len(m.shown.keys) == 0 {
		if m.stands[m.view].filter != "" {
			return []string{"", fmt.Sprintf("  no %s with %q", topViews[m.view].name, m.stands[m.view].filter)}
		}
		return []string{"", "  no " + topViews[m.view].name}
	}
	return m.rows()
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Repeat(" ", len(mark)) + l
	}
	return out
}

// rows are those of the table that are on the screen.
func (m *topModel) rows() []string {
	s := m.stands[m.view]
	last := min(len(m.shown.lines), s.first+m.room())
	p := m.page()
	p.line(m.shown.head, m.shown.widths, true)
	for _, line := range m.shown.lines[s.first:last] {
		p.line(line, m.shown.widths, false)
	}
	out := indented(strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n"))
	at := 1 + s.at - s.first
	chosen := mark + ansi.Strip(out[at][len(mark):])
	out[at] = p.ink("7", chosen+strings.Repeat(" ", max(0, m.width-ansi.StringWidth(chosen))))
	return out
}

func (m *topModel) footer() string {
	keys := topKeys
	switch {
	case m.helping:
		keys = helpKeys
	case m.typing:
		keys = editKeys
	case m.open != "":
		keys = oneKeys
	}
	return m.page().ink("2", keys)
}
