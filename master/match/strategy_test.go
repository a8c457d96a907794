package match

import (
	"maps"
	"slices"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestEveryKnownPlacementHasAStrategy(t *testing.T) {
	known := slices.Sorted(slices.Values(offers.Placements()))
	if have := slices.Sorted(maps.Keys(newPlacers(Config{}))); !slices.Equal(have, known) {
		t.Fatalf("there are strategies for %v, the known placements are %v", have, known)
	}
}

// TestBareAgentsFirst: a demand without devices leaves idle devices their
// cpus, ALGORITHMS section 7.2, also where that is not the closest fit.
func TestBareAgentsFirst(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("idle", `{"cpus":4,"devices":{"gpu":{"ids":["g0"],"capacity":[100]}}}`)
	b.agent("wide", `{"cpus":64,"devices":{"gpu":{"ids":["g0"],"capacity":[100]}}}`)
	b.agent("taken", `{"cpus":8,"devices":{"gpu":{"ids":["g0"],"capacity":[100]}}}`)
	b.agent("none", `{"cpus":12}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"device","count":1,"constraints":["name==taken"],"resources":{"devices":{"gpu":{"count":1}}}}`)
	if got := b.places(); got != "[taken]" {
		t.Fatalf("the device is offered on %s", got)
	}
	for _, want := range []string{"[taken]", "[none]", "[wide]", "[idle]"} {
		id := want[1 : len(want)-1]
		b.demand(f, `{"id":"`+id+`","count":1,"resources":{"cpus":4}}`)
		if got := b.places(); got != want {
			t.Fatalf("4 cpus are offered on %s, want %s", got, want)
		}
		b.demand(f, `{"id":"rest of `+id+`","resources":{"cpus":0.001},"constraints":["name==`+id+`"]}`)
		b.offered()
	}
}

// TestTiesGoToTheFuller: of agents that are equally close the one with less of
// itself left is taken.
func TestTiesGoToTheFuller(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("empty", `{"cpus":4,"mem":8}`)
	b.agent("half", `{"cpus":8,"mem":16}`)
	f := b.framework("f", "default")
	b.demand(f, `{"id":"half","count":1,"constraints":["name==half"],"resources":{"cpus":4,"mem":8}}`)
	b.offered()
	b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
	if got := b.places(); got != "[half]" {
		t.Fatalf("a tie went to %s, want [half]", got)
	}
}

// TestWhatDoesNotSuitLeavesNoTrace: an agent that is looked at after the one that
// wins, and whose devices do not suit, has no part in what is held.
func TestWhatDoesNotSuitLeavesNoTrace(t *testing.T) {
	for _, placement := range offers.Placements() {
		b := newBench(t, Config{Placement: placement})
		b.agent("wins", `{"cpus":4,"devices":{"gpu":{"ids":["g0"],"capacity":[80]}}}`)
		b.agent("computes", `{"cpus":4,"devices":{"gpu":{"ids":["g1"],"capacity":[100]}}}`)
		f := b.framework("f", "default")
		b.demand(f, `{"id":"all","count":1,"constraints":["name==computes"],"resources":{"devices":{"gpu":{"memory":10,"share":1}}}}`)
		b.offered()
		b.demand(f, `{"id":"slice","count":1,"resources":{"devices":{"gpu":{"memory":5,"share":0.1}}}}`)
		out := b.offered()
		if len(out) != 1 || b.names[out[0].Agent] != "wins" || out[0].Held.Devices.Of("gpu")[0].ID != "g0" {
			t.Errorf("%s: offered %+v, want a part of g0 on wins", placement, out)
		}
	}
}
