package state

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestDecoderUsesItsMemoryAgain: what it reads is what Decode reads, whatever it
// read before, be that broken; and nothing of it is in the state that came of it.
func TestDecoderUsesItsMemoryAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var d Decoder
	s, _ := New().Apply([]Command{
		{Init: &Init{cluster}}, {RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}}}, {RegisterFramework: &RegisterFramework{}},
	})
	other, err := Encode([]Command{oneLaunch(1, "other"), oneLaunch(2, "other")})
	if err != nil {
		t.Fatal(err)
	}
	for turn, n := range []int{1, 3, 200, 7, mostKept + 1, 50, 1, mostKept, 300} {
		batch := make([]Command, n)
		for i := range batch {
			if batch[i] = drawCommand(r); i%2 == 0 {
				batch[i] = oneLaunch(turn*10000+i, "t")
				if r.IntN(3) == 0 {
					batch[i].Launch.Task.Spec.Command = nil
				}
			}
		}
		entry, err := Encode(batch)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(entry)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("turn %d: %v; it reads otherwise than Decode", turn, err)
		}
		next, _ := s.Apply(got)
		before := snapshot(t, next)
		if _, err := d.Decode(other[:len(other)-1]); err == nil {
			t.Fatal("what is cut short was read")
		}
		if _, err := d.Decode(other); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, snapshot(t, next)) {
			t.Fatalf("turn %d: the state changed with what was decoded", turn)
		}
		s = next
	}
}
