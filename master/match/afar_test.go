package match

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// strolling is a follower that does something whenever the leader looks whether
// it has, or nothing: what comes when is drawn from rnd.
type strolling struct {
	t       rapid.TB
	rnd     *rand.Rand
	lazy    int // of so many looks it does something at one
	copy    *Copy
	frames  [][]byte
	answers [][]byte
	ended   string
}

func newStrolling(t rapid.TB, seed uint64, lazy int) *strolling {
	return &strolling{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), lazy: lazy, copy: NewCopy(atOnce(2))}
}

func (f *strolling) Send(frame []byte) { f.frames = append(f.frames, frame) }

func (f *strolling) End(reason string) { f.ended = reason }

func (f *strolling) Receive() []byte {
	for f.rnd.IntN(f.lazy) == 0 && len(f.frames) > 0 {
		f.step()
	}
	if len(f.answers) == 0 || f.rnd.IntN(3) == 0 {
		return nil
	}
	out := f.answers[0]
	f.answers = f.answers[1:]
	return out
}

// step has the copy take the next frame.
func (f *strolling) step() {
	var mu sync.Mutex
	frame := f.frames[0]
	f.frames = f.frames[1:]
	err := f.copy.Take(frame, func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		f.answers = append(f.answers, b)
	})
	if err != nil {
		f.t.Fatalf("the copy does not take a frame: %v", err)
	}
}

// TestAfarEqualsSerial: with any number of followers that come, go, and answer
// when they like, everybody is offered exactly what searches one by one would
// give.
func TestAfarEqualsSerial(t *testing.T) {
	var all Counters
	rapid.Check(t, func(t *rapid.T) {
		config := Config{Placement: rapid.SampledFrom([]offers.Placement{offers.LeastRequested, offers.MostBalanced}).Draw(t, "placement")}
		serial := newBench(t, config)
		config.Prematch = atOnce(rapid.IntRange(0, 2).Draw(t, "workers"))
		assisted := newBench(t, config)
		both := []*bench{serial, assisted}
		here, seed := []*strolling{}, rapid.Uint64().Draw(t, "seed")
		join := func() {
			seed++
			f := newStrolling(t, seed, rapid.SampledFrom([]int{1, 2, 9}).Draw(t, "lazy"))
			here = append(here, f)
			assisted.FollowerJoined(f)
		}
		join()
		agents := 0
		enter := func(n int) {
			for range n {
				total, rack := inventory(t), map[string]string{"rack": fmt.Sprint(agents % 3)}
				for _, b := range both {
					b.agentWith(fmt.Sprint("a", agents), total, rack)
				}
				agents++
			}
		}
		enter(rapid.IntRange(1, 40).Draw(t, "agents"))
		quota := offers.Quota{Limit: offers.QuotaAmounts{"cpus": rapid.Int64Range(1, 60).Draw(t, "limit") * 1000}}
		var frameworks []offers.FrameworkID
		for i := range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			for _, b := range both {
				if id := b.framework(fmt.Sprint("f", i), someRoles[i]); b == serial {
					frameworks = append(frameworks, id)
				}
			}
		}
		for _, b := range both {
			b.RoleChanged("eng", &offers.RoleSettings{Weight: 1, Quota: quota})
		}
		shapes := make([]string, rapid.IntRange(1, 6).Draw(t, "shapes"))
		for i := range shapes {
			shapes[i] = asks(t) + rapid.SampledFrom([]string{"}", "}", `,"device_policy":"spread"}`, `,"placement":"rings"}`, `,"constraints":["rack!=1"]}`,
				`,"constraints":["distinct agent"]}`, `,"preferences":[{"condition":"name~a1.*","weight":-1}]}`, `,"gang":"30s"}`}).Draw(t, "more")
		}
		for round := range rapid.IntRange(2, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "events") {
				switch rapid.IntRange(0, 5).Draw(t, "event") {
				case 0:
					join()
				case 1:
					if len(here) > 0 {
						assisted.FollowerLeft(here[0])
						here = here[1:]
					}
				case 2:
					enter(1)
				case 3, 4:
					name, online := fmt.Sprint("a", rapid.IntRange(0, agents-1).Draw(t, "whose")), rapid.Bool().Draw(t, "online")
					for _, b := range both {
						b.AgentOnline(b.ids[name], online)
					}
				case 5:
					name, total := fmt.Sprint("a", rapid.IntRange(0, agents-1).Draw(t, "which")), inventory(t)
					for _, b := range both {
						b.resize(name, total)
					}
				}
			}
			for i := range rapid.IntRange(1, 30).Draw(t, "demands") {
				f := rapid.SampledFrom(frameworks).Draw(t, "framework")
				text := fmt.Sprintf(`{"id":"r%dd%d","count":%d,"resources":%s`, round, i, rapid.IntRange(1, 6).Draw(t, "count"), rapid.SampledFrom(shapes).Draw(t, "shape"))
				for _, b := range both {
					b.demand(f, text)
				}
			}
			a, b := serial.Ready(serial.now), assisted.Ready(assisted.now)
			if got, want := told(b.Offers), told(a.Offers); !slices.Equal(got, want) {
				t.Fatalf("round %d: with followers\n%v\none by one\n%v", round, got, want)
			}
			for _, b := range both {
				if err := b.check(); err != nil {
					t.Fatal(err)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "declines") {
				if len(a.Offers) == 0 {
					break
				}
				o := rapid.SampledFrom(a.Offers).Draw(t, "declined")
				framework, id := o.Framework, o.ID
				for _, b := range both {
					b.Decline(framework, []offers.OfferID{id}, 5*time.Second, b.now)
				}
			}
		}
		for _, f := range here {
			if f.ended != "" {
				t.Fatalf("a follower was sent away: %s", f.ended)
			}
		}
		c := assisted.counters
		all.Afar, all.AfarConflicts, all.AfarUsed = all.Afar+c.Afar, all.AfarConflicts+c.AfarConflicts, all.AfarUsed+c.AfarUsed
	})
	if all.Afar <= all.AfarConflicts || all.AfarConflicts == 0 || all.AfarUsed == 0 {
		t.Errorf("%d units were placed by %d lists of followers, the best of %d had changed", all.Afar, all.AfarUsed, all.AfarConflicts)
	}
}

// TestStoppedFollowerIsToldAnew: a follower that takes nothing for so long that
// nobody remembers what it missed costs a few frames, and goes on as if new.
func TestStoppedFollowerIsToldAnew(t *testing.T) {
	config := Config{Placement: offers.LeastRequested}
	both := []*bench{newBench(t, config), newBench(t, config)}
	stopped := newStrolling(t, 1, 1<<40)
	both[1].FollowerJoined(stopped)
	for _, b := range both {
		for i := range 40 {
			b.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":64}`, 8+i%5))
		}
		b.framework("f", "default")
	}
	f := slices.Collect(maps.Keys(both[0].frameworks))[0]
	turn := func(units int) {
		t.Helper()
		var offered [2][]string
		for i, b := range both {
			b.FrameworkOnline(f, false) // its offers go back
			b.FrameworkOnline(f, true)
			b.demand(f, fmt.Sprintf(`{"id":"d","count":%d,"resources":{"cpus":1}}`, units))
			offered[i] = tellAll(b.Ready(b.now).Offers)
		}
		if !slices.Equal(offered[0], offered[1]) {
			t.Fatalf("with a follower\n%v\none by one\n%v", offered[1], offered[0])
		}
	}
	turn(1)
	before := len(stopped.frames)
	for range 3 * logLength / 100 {
		turn(50)
	}
	if n := len(stopped.frames); before == 0 || n > farWindow {
		t.Errorf("it was sent %d frames, and %d when it took none", before, n)
	}
	stopped.lazy = 1
	for range 3 {
		turn(50)
	}
	if c := both[1].counters; c.Afar == 0 || c.AfarLate == 0 || stopped.ended != "" {
		t.Errorf("it goes on, and nothing is placed by its lists, or nothing came late: %+v, %q", c, stopped.ended)
	}
}

// TestChangesBetweenFollowers: what changes between the last follower and the
// next is not in the log, and lists of before are not read over the gap.
func TestChangesBetweenFollowers(t *testing.T) {
	b := newBench(t, Config{Placement: offers.LeastRequested})
	for i := range 40 {
		b.agent(fmt.Sprint("a", i), `{"cpus":8,"mem":64}`)
	}
	f := b.framework("f", "default")
	first := newStrolling(t, 1, 1)
	b.FollowerJoined(first)
	next := func() string {
		t.Helper()
		b.demand(f, `{"id":"d","count":1,"resources":{"cpus":1}}`)
		return b.names[b.offered()[0].Agent]
	}
	for range 20 {
		next()
	}
	if b.counters.Afar == 0 {
		t.Fatal("nothing was placed by lists")
	}
	b.FollowerLeft(first)
	for i := range 30 {
		b.AgentOnline(b.ids[fmt.Sprint("a", i)], false)
	}
	b.FollowerJoined(newStrolling(t, 2, 1<<40))
	if got := next(); !b.agents[b.ids[got]].online {
		t.Errorf("%s is offered, which is away", got)
	}
}

// running is a follower on goroutines of its own.
type running struct {
	frames  chan []byte
	answers chan []byte
	ended   chan struct{}
	err     error
}

func newRunning(workers int) *running {
	f := &running{frames: make(chan []byte, farWindow), answers: make(chan []byte, farWindow+farWants), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		c := NewCopy(atOnce(workers))
		for frame := range f.frames {
			if f.err == nil {
				f.err = c.Take(frame, func(b []byte) { f.answers <- b })
			}
		}
	}()
	return f
}

// Send implements [Follower]; there is room for as many frames as may be under way.
func (f *running) Send(frame []byte) { f.frames <- frame }

func (f *running) Receive() []byte {
	select {
	case out := <-f.answers:
		return out
	default:
		return nil
	}
}

func (f *running) End(string) {}

// leave ends it; what it has not answered nobody hears.
func (f *running) leave(t testing.TB) {
	close(f.frames)
	for {
		select {
		case <-f.answers:
		case <-f.ended:
			if f.err != nil {
				t.Error(f.err)
			}
			return
		}
	}
}

// manyShapes states n demands of as many shapes, or of a few.
func (b *bench) manyShapes(f offers.FrameworkID, n, shapes int) {
	one := 1
	for i := range n {
		var r offers.Resources
		r.Amounts[offers.CPUs], r.Amounts[offers.Mem] = int64(100+i%shapes), int64(1+i%7)<<28
		b.Demand(f, offers.Demand{ID: offers.DemandID(fmt.Sprint("d", i)), Resources: r, Count: &one})
	}
}

// TestAfarBesideTheLeader: followers that read, on goroutines of their own, while
// the leader decides change nothing but who does the work.
func TestAfarBesideTheLeader(t *testing.T) {
	var told [2][]string
	var c Counters
	for assisted := range told {
		b := newBench(t, Config{Placement: offers.LeastRequested, Prematch: atOnce(assisted)})
		for i := range 600 {
			b.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"cpus":%d,"mem":"%dGiB"}`, 4+i%29, 16+i%49))
		}
		f := b.framework("f", "default")
		var here []*running
		for range 2 * assisted {
			follower := newRunning(2)
			here = append(here, follower)
			b.FollowerJoined(follower)
		}
		for round := range 6 {
			b.FrameworkOnline(f, false) // its offers go back
			b.FrameworkOnline(f, true)
			b.manyShapes(f, 400, 1+round*80)
			for more := true; more; { // turns are cut by how many agents the leader itself looked at
				r := b.Ready(b.now)
				told[assisted], more = append(told[assisted], tellAll(r.Offers)...), r.More
			}
		}
		for _, follower := range here {
			b.FollowerLeft(follower)
			follower.leave(t)
		}
		c = b.counters
	}
	if !slices.Equal(told[0], told[1]) {
		t.Error("with followers others are offered than one by one")
	}
	if c.Afar == 0 {
		t.Errorf("nothing was placed by the lists of followers: %+v", c)
	}
}

// tellAll is told, but for the ids.
func tellAll(list []*offers.Offer) []string {
	var out []string
	for _, o := range list {
		out = append(out, fmt.Sprint(o.Demand, " ", o.Agent, " ", o.Units, " ", o.Held))
	}
	return out
}
