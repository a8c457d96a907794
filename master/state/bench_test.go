package state

import (
	"fmt"
	"io"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// loaded returns a state of 1,000 agents and n living tasks.
func loaded(b *testing.B, n int) *State {
	batch := []Command{{Init: &Init{cluster}}, {RegisterFramework: &RegisterFramework{Name: "f", Role: "eng"}}}
	for i := range 1000 {
		batch = append(batch, Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: fmt.Sprint("agent", i)}}})
	}
	for i := range n {
		batch = append(batch, oneLaunch(i, "t"))
	}
	s, results := New().Apply(batch)
	for _, r := range results {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	return s
}

func oneLaunch(i int, name string) Command {
	c := launch("f00001-c0de", offers.TaskID(fmt.Sprintf("%s%d", name, i)), offers.AgentID(fmt.Sprintf("a%05d-c0de", 1+i%1000)))
	t := &c.Launch.Task
	t.LaunchID = offers.LaunchID(fmt.Sprintf("12-%d", 1+i))
	t.Role, t.Spec.Resources.Amounts = "eng", offers.Amounts{1000, 1 << 30}
	t.Holding.Amounts = t.Spec.Resources.Amounts
	t.Spec.Command = &offers.Command{Argv: []string{"/bin/sh", "-c", "sleep 1"}, Env: map[string]string{"A": "1"}}
	return c
}

// BenchmarkLaunch100 applies 100 launches to 100,000 tasks.
func BenchmarkLaunch100(b *testing.B) {
	s := loaded(b, 100_000)
	batch := make([]Command, 100)
	for i := range batch {
		batch[i] = oneLaunch(i*997, "new")
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, results := s.Apply(batch); results[99].Err != nil {
			b.Fatal(results[99].Err)
		}
	}
}

// BenchmarkCodec100 writes and reads an entry of 100 launches.
func BenchmarkCodec100(b *testing.B) {
	batch := make([]Command, 100)
	for i := range batch {
		batch[i] = oneLaunch(i, "t")
	}
	var size int
	b.ReportAllocs()
	for b.Loop() {
		entry, err := Encode(batch)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Decode(entry); err != nil {
			b.Fatal(err)
		}
		size = len(entry)
	}
	b.ReportMetric(float64(size)/100, "bytes/launch")
}

// BenchmarkSnapshot writes 100,000 tasks, BenchmarkRead reads them.
func BenchmarkSnapshot(b *testing.B) {
	s := loaded(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		n, err := s.WriteTo(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}

func BenchmarkRead(b *testing.B) {
	s := loaded(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		in, out := io.Pipe()
		wrote := make(chan error, 1)
		go func() {
			_, err := s.WriteTo(out)
			wrote <- out.CloseWithError(err)
		}()
		if _, err := Read(in); err != nil {
			b.Fatal(err)
		}
		if err := <-wrote; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLookup finds a task, and the tasks of one agent, among 100,000.
func BenchmarkLookup(b *testing.B) {
	s := loaded(b, 100_000)
	b.Run("task", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s.Task(ref("f00001-c0de", "t50000")) == nil {
				b.Fatal("not there")
			}
		}
	})
	b.Run("agent's 100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for range s.LiveTasksOn("a00500-c0de") {
				n++
			}
			if n != 100 {
				b.Fatal(n)
			}
		}
	})
}
