package cli

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
)

// topModel is what top shows, a function of the messages that came: what the
// masters said ([topSeen]), the time ([topTick]), keys and the terminal's size.
// One goroutine owns it.
type topModel struct {
	ask   func(topWant) // must not block
	color bool

	width, height int
	now           time.Time
	wide          bool
	view          int
	typing        bool // a filter
	helping       bool // the keys are shown, in place of everything

	stands  []stand // one a view, as the tables
	tables  []topTable
	shown   arrangement // of the view that is looked at
	laid    layout      // what shown was made of
	open    string      // key of the one thing that is looked at
	detail  func(*page) error
	text    []string // its lines
	scrolly int      // the first of them on the screen

	status *api.Status
	heard  time.Time // when the masters answered last
	lists  int       // that they have answered with
	err    error
}

// layout is what an arrangement depends on. To move about in a long list costs
// none of it again.
type layout struct {
	lists, view, width int
	wide               bool
	filter, sort       string
	down               bool
}

// topTick says what time it is.
type topTick time.Time

func newTopModel(ask func(topWant), color bool) *topModel {
	m := &topModel{ask: ask, color: color, stands: make([]stand, len(topViews)), tables: make([]topTable, len(topViews))}
	for i, v := range topViews {
		m.stands[i].sort = v.sort
	}
	return m
}

var _ tea.Model = (*topModel)(nil)

func (m *topModel) Init() tea.Cmd { return nil }

func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case topTick:
		m.now = time.Time(msg)
		return m, nil
	case topSeen:
		m.see(msg)
	case tea.KeyPressMsg:
		if cmd := m.press(msg); cmd != nil {
			return m, cmd
		}
	default:
		return m, nil
	}
	m.arrange()
	return m, nil
}

// see takes in what the masters said. An answer to what is not looked at any
// more says something about the cluster still.
func (m *topModel) see(s topSeen) {
	m.err = s.err
	if s.at.After(m.now) {
		m.now = s.at
	}
	if s.status != nil {
		m.status, m.heard = s.status, s.at
	}
	switch {
	case s.err != nil:
	case s.want.key == "":
		m.tables[s.want.view] = s.table
		m.lists++
	case s.want == m.want():
		m.detail = s.detail
	}
}

func (m *topModel) want() topWant { return topWant{m.view, m.open} }

// press obeys a key; the command is one that ends or suspends the program.
func (m *topModel) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.typing:
		m.edit(name, msg.Text)
	case name == "q":
		return tea.Quit
	case m.helping || name == "?":
		m.helping = !m.helping
	case m.open != "" && (name == "esc" || name == "enter" || name == "backspace" || name == "left"):
		m.look(topWant{view: m.view})
	case m.open != "":
		m.browse(name)
	default:
		m.command(name)
	}
	return nil
}

// edit is a key while a filter is typed.
func (m *topModel) edit(name, text string) {
	s := &m.stands[m.view]
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, s.filter = false, ""
	case "backspace":
		if runes := []rune(s.filter); len(runes) > 0 {
			s.filter = string(runes[:len(runes)-1])
		}
	default:
		s.filter += plain(text)
	}
}

// browse is a key over one thing.
func (m *topModel) browse(name string) {
	if !m.change(name) {
		m.scrolly = moved(name, m.scrolly, m.room(), len(m.text))
	}
}

// command is a key over a list.
func (m *topModel) command(name string) {
	s := &m.stands[m.view]
	switch name {
	case "/":
		m.typing = true
	case "esc":
		s.filter = ""
	case "enter":
		if s.chosen != "" {
			m.look(topWant{m.view, s.chosen})
		}
	case "<", "left":
		s.resort(m.tables[m.view].heading, -1, m.wide)
	case ">", "right":
		s.resort(m.tables[m.view].heading, 1, m.wide)
	case "r":
		s.down = !s.down
	default:
		if !m.change(name) {
			s.choose(&m.shown, moved(name, s.at, m.room(), len(m.shown.keys)))
		}
	}
}

// change obeys the keys that mean the same everywhere.
func (m *topModel) change(name string) bool {
	n := len(topViews)
	switch name {
	case "tab":
		m.look(topWant{view: (m.view + 1) % n})
	case "shift+tab":
		m.look(topWant{view: (m.view + n - 1) % n})
	case "w":
		m.wide = !m.wide
	default:
		i := strings.Index("1234", name)
		if i < 0 || len(name) != 1 {
			return false
		}
		m.look(topWant{view: i})
	}
	return true
}

// look turns to a view or to one thing of it.
func (m *topModel) look(want topWant) {
	m.view, m.open = want.view, want.key
	m.detail, m.scrolly = nil, 0
	m.ask(want)
}

// moved is where a key leads from at, among so many.
func moved(name string, at, screen, of int) int {
	switch name {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup", "ctrl+b":
		at -= screen
	case "pgdown", "ctrl+f", "space":
		at += screen
	case "home", "g":
		at = 0
	case "end", "G":
		at = of - 1
	}
	return max(0, min(at, of-1))
}

// arrange lays out what is looked at, as the terminal now is.
func (m *topModel) arrange() {
	p := m.page()
	p.width = max(0, p.width-len(mark))
	if m.open == "" {
		s := &m.stands[m.view]
		if l := (layout{m.lists, m.view, m.width, m.wide, s.filter, s.sort, s.down}); l != m.laid {
			m.shown, m.laid = s.arrange(m.tables[m.view], p), l
		}
		s.scroll(len(m.shown.keys), m.room())
		return
	}
	m.text = nil
	if m.detail == nil {
		return
	}
	if err := m.detail(p); err != nil {
		m.err = err
	}
	m.text = strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n")
	m.scrolly = max(0, min(m.scrolly, len(m.text)-m.room()))
}

// page is an empty one as wide as the terminal.
func (m *topModel) page() *page {
	return &page{width: m.width, wide: m.wide, color: m.color, now: m.now}
}
