package match

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestPreferencesDecideFirst: under every strategy the agents with the most
// preferred come first, and it decides between equals.
func TestPreferencesDecideFirst(t *testing.T) {
	for _, p := range offers.Placements() {
		b := newBench(t, Config{Placement: p})
		b.agent("plain", `{"cpus":1}`)
		b.agentWith("rack", `{"cpus":1}`, map[string]string{"rack": "r1"})
		b.agentWith("both", `{"cpus":1}`, map[string]string{"rack": "r1", "disk": "fast"})
		b.agentWith("old", `{"cpus":1}`, map[string]string{"old": "true"})
		f := b.framework("f", "default")
		for i, want := range []string{"[both]", "[rack]", "[plain]", "[old]", "[]"} {
			b.demand(f, fmt.Sprintf(`{"id":"d%d","count":1,"resources":{"cpus":1},"preferences":[{"condition":"rack==r1","weight":2},{"condition":"disk==fast","weight":1},{"condition":"old==true","weight":-1}]}`, i))
			if got := b.places(); got != want {
				t.Errorf("%s: unit %d goes to %s, want %s", p, i, got, want)
			}
		}
	}
}

// TestPreferencesAgainstModel: nobody who suits is preferred to who is offered,
// and of those who are as much preferred the strategy takes the one that it
// would take if there were no others.
func TestPreferencesAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, Config{Placement: rapid.SampledFrom(offers.Placements()).Draw(t, "placement")})
		for i := range rapid.IntRange(1, 10).Draw(t, "agents") {
			b.agentWith(fmt.Sprint("a", i), inventory(t), map[string]string{
				"rack": rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack"), "zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"),
			})
		}
		f := b.framework("f", "default")
		w1, w2 := rapid.IntRange(1, 3).Draw(t, "rack's"), rapid.SampledFrom([]int{-2, -1, 1, 2}).Draw(t, "zone's")
		preferences := fmt.Sprintf(`[{"condition":"rack==r1","weight":%d},{"condition":"zone==a","weight":%d}]`, w1, w2)
		ask := asks(t)
		b.demand(f, `{"id":"d","count":1,"resources":`+ask+`,"preferences":`+preferences+`}`)
		e, _ := b.ExplainStated(f, "d", 100)
		var got []*offers.Offer
		for range 2 { // once more: offered once, it is not offered again
			got = append(got, b.offered()...)
		}
		var d offers.Demand
		if err := d.UnmarshalJSON([]byte(`{"id":"d","count":1,"resources":` + ask + `,"preferences":` + preferences + `}`)); err != nil {
			t.Fatal(err)
		}
		if (len(got) == 1) != (len(e.Places) == 1) || len(got) == 1 && got[0].Agent != e.Places[0].Agent {
			t.Fatalf("explained %+v, offered %+v", e.Places, got)
		}
		if len(got) == 0 {
			return
		}
		b.demand(f, `{"id":"d","count":0}`)
		b.offered()
		best := d.Preferred(&b.state.Agent(got[0].Agent).Agent)
		var alike []string
		for a := range b.state.Agents() {
			sum := d.Preferred(&a.Agent)
			if sum < best {
				continue
			}
			only := b.explained(`{"id":"x","count":1,"resources":` + ask + `,"constraints":["name==` + a.Name + `"]}`)
			if sum > best && len(only.Places) > 0 {
				t.Fatalf("%s with %d suits, and %s with %d is offered", a.Name, sum, b.names[got[0].Agent], best)
			}
			if sum == best {
				alike = append(alike, a.Name)
			}
		}
		among := b.explained(`{"id":"x","count":1,"resources":` + ask + `,"constraints":["name in ` + strings.Join(alike, ",") + `"]}`)
		if among.Places[0].Agent != got[0].Agent {
			t.Fatalf("among %v the strategy takes %s, offered is %s", alike, b.names[among.Places[0].Agent], b.names[got[0].Agent])
		}
	})
}

// TestPreferenceIsExplained: who suits and is less preferred is named so.
func TestPreferenceIsExplained(t *testing.T) {
	b := newBench(t, Config{})
	b.agent("plain", `{"cpus":1}`)
	b.agentWith("rack", `{"cpus":8}`, map[string]string{"rack": "r1"})
	e := b.explained(`{"id":"d","count":1,"resources":{"cpus":1},"preferences":[{"condition":"rack==r1","weight":2},{"condition":"rack==r2","weight":5}]}`)
	if said(e.Found) != "[1 preference]" || b.names[e.Found.Winner.Agent] != "rack" || e.Found.Winner.Sum != 2 {
		t.Errorf("reasons %s, winner %+v", said(e.Found), e.Found.Winner)
	}
	if len(e.Found.Next) != 1 || b.names[e.Found.Next[0].Agent] != "plain" || e.Found.Next[0].Sum != 0 {
		t.Errorf("next are %+v", e.Found.Next)
	}
}
