package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const printed = `goos: linux
BenchmarkGrowth/of=agents/agents=100/tasks=10000-2      	10	164832204 ns/op	42.24 MiB	63.20 us/task
BenchmarkGrowth/of=agents/agents=10000/tasks=10000-2    	10	164832204 ns/op	66.48 MiB	67.35 us/task
BenchmarkGrowth/of=agents/agents=100/tasks=10000-2      	10	164832204 ns/op	42.30 MiB	60.10 us/task
BenchmarkGrowth/of=agents/agents=100/tasks=10000-2      	10	164832204 ns/op	42.26 MiB	61.00 us/task
BenchmarkGrowth/of=tasks/agents=1000/tasks=1000000-2    	10	164832204 ns/op	2301.5 MiB	70.00 us/task
PASS
`

func TestTable(t *testing.T) {
	var out, problems strings.Builder
	file := filepath.Join(t.TempDir(), "g.svg")
	if code := command([]string{"-svg", file}, strings.NewReader(printed), &out, &problems); code != 0 {
		t.Fatalf("%d: %s", code, problems.String())
	}
	want := `| agents | tasks that run | µs of the processor per task | least to greatest | heap, MiB |
|---:|---:|---:|---:|---:|
| 100 | 10,000 | 61.0 | 60.1 to 63.2 | 42 |
| 10,000 | 10,000 | 67.3 | 67.3 to 67.3 | 66 |
| 1,000 | 1,000,000 | 70.0 | 70.0 to 70.0 | 2302 |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
	for _, has := range []string{">1,000,000<", "agents, with 10,000 tasks that run", "tasks that run, on 1,000 agents"} {
		if !strings.Contains(string(svg), has) {
			t.Errorf("the plot has no %q", has)
		}
	}
	if strings.Contains(string(svg), "NaN") {
		t.Error("the plot has places that are no numbers")
	}
}

func TestRefused(t *testing.T) {
	for in, want := range map[string]string{
		"":     "nothing of BenchmarkGrowth was read",
		"PASS": "nothing of BenchmarkGrowth was read",
		"BenchmarkGrowth/of=agents/agents=x/tasks=1-2 1 1 ns/op": `parsing "x"`,
		"BenchmarkGrowth/of=agents/agents=1/tasks=1-2 1 1 ns/op": "no us/task",
	} {
		var problems strings.Builder
		if code := command(nil, strings.NewReader(in), io.Discard, &problems); code != 1 || !strings.Contains(problems.String(), want) {
			t.Errorf("%q: %d %q, want %q", in, code, problems.String(), want)
		}
	}
	if code := command([]string{"x"}, strings.NewReader(""), io.Discard, io.Discard); code != 2 {
		t.Errorf("an argument gives %d", code)
	}
}
