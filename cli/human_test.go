package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/master/api"
)

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 1536: "1.5KiB", 128 << 20: "128MiB", 1 << 30: "1GiB",
		16642998272: "15.5GiB", 1023 << 20: "1GiB", 3 << 50: "3PiB", 5000 << 50: "5000PiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) is %s, want %s", n, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	now := time.Unix(1e9, 0)
	for d, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m30s", time.Hour: "1h", 26 * time.Hour: "1d2h"} {
		if got := age(now, now.Add(-d)); got != want {
			t.Errorf("age of %v is %s, want %s", d, got, want)
		}
	}
}

func TestTableFits(t *testing.T) {
	rows := []row{{"a-rather-long-id", "and a message that is far too long for this terminal, with\na line break", "running"}, {"b", "ü", "failed"}}
	for width := 30; width < 100; width++ {
		p := &page{width: width}
		p.table(row{"ID", "MESSAGE", "STATE", "+WIDE"}, rows)
		for line := range strings.Lines(p.text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns in %d: %q", n, width, line)
			}
		}
		if n := strings.Count(p.text.String(), "\n"); n != 3 {
			t.Errorf("%d lines for a heading and two rows", n)
		}
	}
}

// TestNarrowTable: where not even cut columns fit the last ones are left out, and
// the heading shows that there are more. What follows has the same ones.
func TestNarrowTable(t *testing.T) {
	heading := row{"ID", "NAME", "STATE", "TASKS", "SHARE", "DOMINANT", "+WIDE"}
	first := []row{{"a-rather-long-id", "a-name", "connected", "12", "100.0%", "gpu.slice"}}
	later := []row{{"b", "", "gone", "1000000", "1", "cpus"}}
	for width := 1; width < 80; width++ {
		p := &page{width: width}
		table := longTable{page: p}
		table.add(heading, first)
		table.add(heading, later)
		lines := strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n")
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > max(width, minColumn+3) {
				t.Errorf("a line of %d columns in %d: %q", n, width, line)
			}
		}
		whole := strings.Contains(lines[0], "DOM")
		if len(lines) != 3 || strings.HasSuffix(lines[0], " …") == whole || whole != (width >= 45) {
			t.Errorf("in %d columns:\n%s", width, &p.text)
		}
	}
}

func TestWhyNoRoom(t *testing.T) {
	for trail, want := range map[string]string{
		`{"agents": 0}`: "no agent is known; see ringmaster agents",
		`{"agents": 3, "reasons": [{"code": "too_small", "what": "cpus", "agents": 2, "asked": 5, "most": 4.5}, {"code": "state", "what": "away", "agents": 1}]}`:                                          "2 of 3 agents: have at most 4.5 cpus in all, 5 are asked; 1 of 3 agents: has no connection to the leader",
		`{"agents": 1, "reasons": [{"code": "short", "what": "gpu.slice", "agents": 1, "asked": 2147483648, "most": 1073741824}]}`:                                                                         "1 of 1 agent: has at most 1GiB gpu.slice free, 2GiB are asked",
		`{"agents": 1, "reasons": [{"code": "too_small", "what": "cpus", "agents": 1, "asked": 100, "most": 4, "also": [{"what": "mem", "asked": 1099511627776, "most": 17179869184}, {"what": "npu"}]}]}`: "1 of 1 agent: has at most 4 cpus in all, 100 are asked, and at most 16GiB mem in all, 1TiB are asked, and no npu",
		`{"agents": 1, "reasons": [{"code": "short", "what": "gpu", "agents": 1, "asked": 1, "most": 0}]}`:                                                                                                 "1 of 1 agent: has at most 0 gpu free, 1 is asked",
		`{"agents": 1, "reasons": [{"code": "too_small", "what": "npu", "agents": 1}]}`:                                                                                                                    "1 of 1 agent: has no npu",
		`{"agents": 1, "reasons": [{"code": "constraint", "what": "rack==r1", "agents": 1}]}`:                                                                                                              "1 of 1 agent: not rack==r1",
		`{"agents": 1, "reasons": [{"code": "devices", "what": "gpu", "agents": 1}]}`:                                                                                                                      "1 of 1 agent: has not the gpu free that are asked together",
		`{"agents": 1, "reasons": [{"code": "limit", "what": "distinct agent", "agents": 1}]}`:                                                                                                             "1 of 1 agent: distinct agent is reached there",
		`{"agents": 1, "reasons": [{"code": "ports", "agents": 1}]}`:                                                                                                                                       "1 of 1 agent: has not the ports free that are asked",
		`{"agents": 1, "reasons": [{"code": "quota", "agents": 1}]}`:                                                                                                                                       "1 of 1 agent: a quota, or what is guaranteed to other roles, stands against it; see ringmaster roles",
		`{"agents": 1, "reasons": [{"code": "refused", "agents": 1}]}`:                                                                                                                                     "1 of 1 agent: its framework declined it lately",
		`{"agents": 9, "reasons": [{"code": "state", "what": "draining", "agents": 2}, {"code": "refused", "agents": 7}]}`:                                                                                 "2 of 9 agents: are draining; 7 of 9 agents: its framework declined them lately",
		`{"agents": 1, "reasons": [{"code": "of", "what": "later", "agents": 1}]}`:                                                                                                                         "1 of 1 agent: of later",
	} {
		var v api.Trail
		if err := json.Unmarshal([]byte(trail), &v); err != nil {
			t.Fatal(err)
		}
		if got := shortage(&v); got != want {
			t.Errorf("%s: %s, want %s", trail, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		id    bool
		want  string
	}{{"sleeper-9f620f87-11", 10, true, "sleepe…-11"}, {"sleeper-9f620f87-11", 10, false, "sleeper-9…"}, {"sleeper-9f620f87-11", 6, true, "sleep…"}, {"fünfundzwanzig", 8, true, "fünf…zig"}} {
		if got := cut(c.text, c.width, c.id); got != c.want {
			t.Errorf("%q in %d is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestManyRings: of many rings those without agents share a line, unless all
// are asked for.
func TestManyRings(t *testing.T) {
	var rings []string
	for i := range 20 {
		agents, to := "[]", fmt.Sprint(i+1)
		switch i {
		case 3:
			agents = `[{"name":"a","free":3.5}]`
		case 19:
			to = "null"
		}
		rings = append(rings, fmt.Sprintf(`{"index":%d,"from":%d,"to":%s,"agents":%s}`, i+1, i, to, agents))
	}
	k := api.RingSet{Name: "cpus"}
	if err := json.Unmarshal([]byte("["+strings.Join(rings, ",")+"]"), &k.Rings); err != nil {
		t.Fatal(err)
	}
	var indexes []string
	for _, r := range ringRows(&k, false) {
		indexes = append(indexes, r[0]+" "+r[1]+" "+r[2])
	}
	if want := []string{"1-3 0 to 3 0", "4 3 to 4 1", "5-20 4 and more 0"}; !slices.Equal(indexes, want) {
		t.Errorf("rows are %q, want %q", indexes, want)
	}
	if n := len(ringRows(&k, true)); n != 20 {
		t.Errorf("%d of 20 rings have a line", n)
	}
}
