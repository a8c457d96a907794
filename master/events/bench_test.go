package events_test

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// busy is a state and a batch of 100 launches that leads to another.
func busy() (before, after *state.State, batch []state.Command, results []state.Result) {
	c := newChronicle()
	c.do(c.agent("a"), c.framework(""))
	for n := range 100 {
		batch = append(batch, c.launch(offers.TaskRef{Framework: "f00001-c0de", Task: offers.TaskID(fmt.Sprint("t", n))}, "a00001-c0de"))
	}
	after, results = c.state.Apply(batch)
	return c.state, after, batch, results
}

// BenchmarkTurn is what a batch of 100 launches costs a master to whom nobody
// listens: to apply it, and beside that to derive and keep its events.
func BenchmarkTurn(b *testing.B) {
	before, after, batch, results := busy()
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			before.Apply(batch)
		}
	})
	b.Run("events", func(b *testing.B) {
		buffer := events.NewBuffer(1 << 16)
		for b.Loop() {
			buffer.Append(events.Derive(before, after, batch, results))
			buffer.Show(after.Applied())
		}
	})
}

// BenchmarkFrame is what one event costs to be written, once for all readers.
func BenchmarkFrame(b *testing.B) {
	before, after, batch, results := busy()
	list := events.Derive(before, after, batch, results)
	for n := 0; b.Loop(); n++ {
		list[n%len(list)].Frame()
	}
}
