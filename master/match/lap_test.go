package match

import (
	"fmt"
	"testing"
)

// TestVainDemandsOfOthersComeInLaps: who had an allocation before comes after those
// who have as little and never had one, but not after all that they want in vain.
func TestVainDemandsOfOthersComeInLaps(t *testing.T) {
	const agents, frameworks, each = 100, 20, 500
	b := newBench(t, Config{})
	for i := range agents {
		b.agent(fmt.Sprintf("a%d", i), `{"cpus":16}`)
	}
	probe := b.framework("probe", "default")
	b.cycle(probe, 0)
	b.storm(frameworks, each, "==")
	// The last search of each in a lap looks at all agents twice: for room, and
	// whether anybody could ever take it.
	most := frameworks * (vainLooks + 2*agents)
	for n := range 5 {
		if turns := b.cycle(probe, 1+n); turns > 1+most/turnLooks {
			t.Errorf("demand %d is served in turn %d, a lap has %d looks at agents", n, turns, most)
		}
	}
	b.settled()
	if want := agents * frameworks * each; b.looks() < want {
		t.Errorf("in all %d looks were taken at agents, all demands in vain would take %d", b.looks(), want)
	}
}

// TestAHigherShareWaitsForALapAtMost: nor does somebody who has more than those who
// search in vain.
func TestAHigherShareWaitsForALapAtMost(t *testing.T) {
	const agents, frameworks, each = 100, 10, 500
	b := newBench(t, Config{})
	for i := range agents {
		b.agent(fmt.Sprintf("a%d", i), `{"cpus":16}`)
	}
	probe := b.framework("probe", "default")
	b.demand(probe, `{"id":"d","resources":{"cpus":2},"count":1}`)
	_, o := b.served(probe)
	b.launch(o, map[string]string{"t": `{"cpus":2}`})
	b.storm(frameworks, each, "==")
	most := frameworks * (vainLooks + 2*agents)
	if turns := b.cycle(probe, 1); turns > 1+most/turnLooks {
		t.Errorf("a framework with a task is served in turn %d, a lap has %d looks at agents", turns, most)
	}
}

// TestWhoStepsAsideIsServed: of a framework whose first demands are in vain the last
// one is offered what there is, in the same turn.
func TestWhoStepsAsideIsServed(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 100 {
		b.agent(fmt.Sprintf("a%d", i), `{"cpus":16}`)
	}
	b.storm(1, 100, "==")
	f := b.framework("last", "default")
	for k := range 100 {
		b.demand(f, fmt.Sprintf(`{"id":"d%d","resources":{"cpus":1},"count":1,"constraints":["rack==%d"]}`, k, k))
	}
	b.demand(f, `{"id":"one","resources":{"cpus":1},"count":1}`)
	if turns, _ := b.served(f); turns != 1 {
		t.Errorf("it is served in turn %d", turns)
	}
	b.settled()
}

// TestVainSearchesCountForOneLap: who searches in vain a little in each never steps aside.
func TestVainSearchesCountForOneLap(t *testing.T) {
	b := newBench(t, Config{})
	f := b.frameworks[b.framework("f", "default")]
	for n := range 3 {
		b.nextLap()
		if b.noteVain(f, vainLooks-vainSearch-1); f.vain.aside {
			t.Fatalf("it steps aside in lap %d", n)
		}
	}
	if b.noteVain(f, 0); !f.vain.aside {
		t.Error("it does not step aside after as much as there may be in a lap")
	}
}
