package cli

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

var update = flag.Bool("update", false, "write the golden screens of top anew")

// stage is a model of top whose wants are answered at once, by what the files
// of testdata/fake say.
type stage struct {
	*topModel
	reader *topReader
	want   topWant
	now    time.Time
}

func newStage(tb testing.TB, color bool) *stage {
	tb.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tasks/fw-1:build-8", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id": "build-8", "framework_id": "fw-1", "state": "failed", "exit_code": 7, "message": "it ended\u001b[2J with 7", "resources": {"cpus": 0.5},
			"history": [{"time": "2020-01-01T00:00:00Z", "type": "task_launched", "state": "staging"}, {"time": "2020-01-01T00:00:04Z", "type": "task_ended", "state": "failed", "exit_code": 7}]}`)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("after") == "oldest" {
			fmt.Fprintf(w, "id: 1.1\ndata: {\"type\":\"role_set\",\"role\":%q,\"time\":\"2020-01-01T00:00:00Z\"}\n\n", r.FormValue("role"))
		}
	})
	mux.HandleFunc("GET /v1/{list}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata", "fake", r.PathValue("list")+".json"))
	})
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	d, err := door.Open(door.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	s := &stage{now: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.reader = &topReader{client: openClient([]string{server.Listener.Addr().String()}, d), now: func() time.Time { return s.now }}
	s.topModel = newTopModel(func(w topWant) { s.want = w }, color)
	s.topModel.now = s.now
	return s
}

// answer is what the masters say to what is wanted now.
func (s *stage) answer(tb testing.TB) {
	tb.Helper()
	seen := s.reader.read(tb.Context(), s.want)
	if seen.err != nil {
		tb.Fatal(seen.err)
	}
	s.Update(seen)
}

// press presses keys, by their names or as text.
func (s *stage) press(keys ...string) {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "tab": tea.KeyTab,
		"end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		if code, ok := named[k]; ok {
			s.Update(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			s.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func TestTopScreens(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
		keys          []string
	}{
		{"agents", 80, 24, nil},
		{"agents-wide", 160, 16, []string{"w"}},
		{"agents-narrow", 40, 10, nil},
		{"small", 30, 8, nil},
		{"tasks", 80, 24, []string{"2"}},
		{"tasks-filter", 80, 24, []string{"2", "/", "FAIled"}},
		{"tasks-no-match", 80, 12, []string{"2", "/", "zzz", "enter"}},
		{"task", 80, 24, []string{"2", "/build-8", "enter", "enter"}},
		{"roles", 80, 24, []string{"3"}},
		{"role", 80, 24, []string{"3", "down", "enter"}},
		{"rings", 80, 24, []string{"tab", "tab", "tab"}},
		{"rings-end", 60, 12, []string{"4", "end"}},
		{"ring", 80, 24, []string{"4", "down", "enter"}},
		{"keys", 40, 10, []string{"?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, false)
			s.Update(tea.WindowSizeMsg{Width: c.width, Height: c.height})
			s.answer(t)
			for _, k := range c.keys {
				s.press(k)
				s.answer(t)
			}
			golden(t, c.name, s.screen())
			holds(t, s)
		})
	}
}

// TestTopKeys: the keys are shown over whatever is looked at, and any one goes back
// there and does nothing else; in a filter ? is what is looked for.
func TestTopKeys(t *testing.T) {
	s := newStage(t, false)
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.answer(t)
	before := s.screen()
	s.press("?")
	if got := strings.Join(s.screen(), "\n"); !strings.Contains(got, "sort by another column") || !strings.Contains(got, helpKeys) {
		t.Errorf("the keys are not shown: %s", got)
	}
	s.press("2")
	if !slices.Equal(s.screen(), before) {
		t.Errorf("it does not go back: %q", s.screen())
	}
	s.press("/", "a?")
	if s.helping || s.stands[0].filter != "a?" {
		t.Errorf("the filter is %q", s.stands[0].filter)
	}
}

// holds checks that a screen is as large as its terminal and steers nothing.
func holds(t *testing.T, s *stage) {
	t.Helper()
	lines := s.screen()
	if s.width >= leastWidth && s.height >= leastHeight && len(lines) != s.height {
		t.Errorf("%d lines in a terminal of %d", len(lines), s.height)
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > s.width {
			t.Errorf("a line of %d columns in %d: %q", n, s.width, l)
		}
		if strings.ContainsRune(l, '\x1b') {
			t.Errorf("a line without colour has an escape: %q", l)
		}
	}
}

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	got, path := []byte(strings.Join(lines, "\n")+"\n"), filepath.Join("testdata", "top", name+".txt")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
}

// TestTopLosesMasters: what was seen stays, the header says since when nobody
// answers, and an answer heals it.
func TestTopLosesMasters(t *testing.T) {
	s := newStage(t, false)
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.answer(t)
	whole := s.screen()
	s.now = s.now.Add(2 * time.Second)
	s.Update(topTick(s.now))
	if strings.Contains(s.screen()[0], "no answer") {
		t.Errorf("a late answer counts as none: %s", s.screen()[0])
	}
	s.now = s.now.Add(10 * time.Second)
	s.Update(topTick(s.now))
	s.Update(topSeen{at: s.now, want: s.want, err: fmt.Errorf("no master answers\nat all")})
	golden(t, "lost", s.screen())
	s.answer(t)
	if healed := s.screen(); !slices.Equal(healed[1:], whole[1:]) {
		t.Errorf("after an answer the screen is\n%s\nwant\n%s", strings.Join(healed, "\n"), strings.Join(whole, "\n"))
	}
}

// TestTopKeepsTheChosenRow: wherever new rows and orders put it, and at any size.
func TestTopKeepsTheChosenRow(t *testing.T) {
	s := newStage(t, false)
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 12})
	table := func(from, to int) topSeen {
		tt := topTable{heading: row{"ID", "NAME"}, key: firstCell}
		for i := from; i < to; i++ {
			tt.rows = append(tt.rows, row{fmt.Sprintf("a%d", i), fmt.Sprintf("worker-%d", i)})
		}
		return topSeen{at: s.now, want: s.want, status: &api.Status{}, table: tt}
	}
	s.Update(table(100, 200))
	s.press("pgdown", "down")
	chosen := s.stands[0].chosen
	for _, step := range []func(){
		func() { s.Update(table(50, 250)) }, func() { s.press("r") }, func() { s.press("<") },
		func() { s.Update(tea.WindowSizeMsg{Width: 50, Height: 30}) }, func() { s.press("/worker-1", "enter") },
	} {
		step()
		if got := s.stands[0].chosen; got != chosen {
			t.Fatalf("%s is chosen, want %s", got, chosen)
		}
		if !slices.ContainsFunc(s.screen(), func(l string) bool { return strings.HasPrefix(l, mark+chosen+" ") }) {
			t.Fatalf("%s is not on the screen:\n%s", chosen, strings.Join(s.screen(), "\n"))
		}
		holds(t, s)
	}
	s.Update(table(0, 3))
	s.press("esc")
	if s.stands[0].chosen == "" {
		t.Error("nothing is chosen once the chosen row is gone")
	}
}

func TestTopColour(t *testing.T) {
	s := newStage(t, true)
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.answer(t)
	text := strings.Join(s.screen(), "\n")
	for _, want := range []string{"\x1b[7m> ag-0001", "\x1b[33m4 gpu\x1b[0m", "\x1b[33munreachab…\x1b[0m"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%q", want, text)
		}
	}
}

func TestCompareCells(t *testing.T) {
	ascending := []string{"", "-", "0.5%", "1.5/8", "2/8", "59s", "1m30s", "90m", "1d2h", "512MiB/16GiB", "2GiB", "10Gbps", "eng", "worker-2", "worker-10", "worker-a"}
	for i, a := range ascending {
		for j, b := range ascending {
			if got, want := compareCells(a, b), min(max(i-j, -1), 1); got != want {
				t.Errorf("%q and %q compare as %d, want %d", a, b, got, want)
			}
		}
	}
}

// BenchmarkTop draws a cluster of 100,000 tasks: anew, and after a key that
// moves about in it.
func BenchmarkTop(b *testing.B) {
	s := newStage(b, false)
	s.press("2")
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	rows := make([]row, 100_000)
	for i := range rows {
		created := s.now.Add(-time.Duration(i) * time.Second)
		rows[i] = taskRow(&api.Task{ID: offers.TaskID(fmt.Sprintf("task-%d", i)), Framework: "f00001-5877", Agent: "a00001-5877", State: "running", Created: &created}, s.now, "-", "")
	}
	seen := topSeen{at: s.now, want: s.want, status: &api.Status{}, table: topTable{taskHeading, rows, taskKey}}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			s.Update(seen)
			s.screen()
		}
	})
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			s.press("down")
			s.screen()
		}
	})
}

// TestTopKeepsTasksInPlace looks at tasks whose ages are the same number of
// seconds at one moment and not at another: none may pass the others.
func TestTopKeepsTasksInPlace(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"tasks": [
			{"id": "a", "framework_id": "f", "created": "2020-01-01T00:00:00.9Z"},
			{"id": "b", "framework_id": "f", "created": "2020-01-01T00:00:01.1Z"},
			{"id": "c", "framework_id": "f", "created": "2020-01-01T00:00:00.5Z"},
			{"id": "d", "framework_id": "f", "created": "2020-01-01T00:00:00.5Z"}]}`)
	}))
	defer server.Close()
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cl := openClient([]string{server.Listener.Addr().String()}, d)
	for _, after := range []time.Duration{5 * time.Second, 5600 * time.Millisecond, time.Hour} {
		table, err := topTasks(t.Context(), cl, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(after))
		if err != nil {
			t.Fatal(err)
		}
		for down, want := range map[bool]string{false: "f:b f:a f:c f:d", true: "f:d f:c f:a f:b"} {
			s := stand{sort: "AGE", down: down}
			if got := strings.Join(s.arrange(table, &page{width: 200}).keys, " "); got != want {
				t.Errorf("after %v, down %v: %s, want %s", after, down, got, want)
			}
		}
	}
}
