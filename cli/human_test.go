package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/offers"
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

func TestWhyWaiting(t *testing.T) {
	agents := func(text string) (list []agentView) {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	two := `[{"state": "active", "total": {"cpus": 4, "mem": 1073741824}, "devices": {"gpu": {"ids": ["g0"]}}},
		{"state": "unreachable", "total": {"cpus": 64, "mem": 1073741824}}]`
	for _, c := range []struct{ agents, wish, want string }{
		{`[]`, `{"cpus": 1}`, "no agent is active"},
		{two, `{"cpus": 5}`, "no agent has 5 cpus; the largest has 4"},
		{two, `{"mem": "2GiB"}`, "no agent has 2GiB mem; the largest has 1GiB"},
		{two, `{"devices": {"gpu": {"count": 2}}}`, "no agent has 2 gpu; the largest has 1"},
		{two, `{"cpus": 4}`, "the agents are full"},
	} {
		var wish offers.Resources
		if err := json.Unmarshal([]byte(c.wish), &wish); err != nil {
			t.Fatal(err)
		}
		if got := reason(agents(c.agents), wish, false); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.wish, got, c.want)
		}
	}
}
