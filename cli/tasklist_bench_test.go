package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// tasksOf is an answer with so many tasks, as a master gives it.
func tasksOf(b *testing.B, many int) []byte {
	b.Helper()
	var tasks []json.RawMessage
	for n := range many {
		tasks = append(tasks, fmt.Appendf(nil, `{"id":"t%d","name":"stays","framework_id":"f00001-26b0","agent_id":"a%05d-26b0","role":"default","state":"running",`+
			`"resources":{"cpus":0.1,"mem":134217728,"disk":0,"bandwidth":0},"devices":{},"created":"2030-01-01T00:00:00.123456789Z","started":"2030-01-01T00:00:00.223456789Z"}`, n, n%1000))
	}
	text, err := json.Marshal(map[string]any{"tasks": tasks, "next": ""})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// BenchmarkTaskTable decodes and draws a page of 10,000 tasks.
func BenchmarkTaskTable(b *testing.B) {
	text := tasksOf(b, 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p := &page{now: time.Now(), early: &bytes.Buffer{}}
		list, err := cutPage(text, "tasks")
		if err != nil {
			b.Fatal(err)
		}
		if err := drawTaskPages(b.Context(), p, list, nil); err != nil {
			b.Fatal(err)
		}
	}
}
