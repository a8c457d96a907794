package master

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// space is an agent of a floor as a client reads it.
type space struct {
	ID      string
	Tasks   int
	Used    map[string]float64
	Devices map[string]struct {
		Used   []float64
		Shares []float64
	}
}

// readFloor asks for the floor as it is now.
func (s *telling) readFloor(t *testing.T) (after string, agents map[string]*space) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/floor", nil)
	r.Host = "127.0.0.1:5050"
	s.ServeHTTP(w, r)
	var floor struct {
		After  string
		Agents []*space
	}
	if err := json.Unmarshal(w.Body.Bytes(), &floor); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	agents = map[string]*space{}
	for _, a := range floor.Agents {
		agents[a.ID] = a
	}
	return floor.After, agents
}

// count adds the launches and ends of a text of events to what a client knows.
func count(t *testing.T, agents map[string]*space, text string) {
	for line := range strings.Lines(text) {
		data, is := strings.CutPrefix(line, "data: ")
		var e struct {
			Type      events.Type
			Agent     string `json:"agent_id"`
			Resources map[string]float64
			Devices   map[string][]struct {
				Index         int
				Memory, Share float64
			}
		}
		if !is {
			continue
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		sign := map[events.Type]float64{events.TaskLaunched: 1, events.TaskEnded: -1}[e.Type]
		if sign == 0 {
			continue
		}
		a := agents[e.Agent]
		a.Tasks += int(sign)
		for kind, n := range e.Resources {
			a.Used[kind] += sign * n
		}
		for class, grants := range e.Devices {
			for _, g := range grants {
				a.Devices[class].Used[g.Index] += sign * g.Memory
				a.Devices[class].Shares[g.Index] += sign * g.Share
			}
		}
	}
}

// commit applies a command and tells the feed, before the leader acts on it.
func (s *telling) commit(c state.Command) {
	s.Helper()
	before := s.state
	after, results := before.Apply([]state.Command{c})
	if results[0].Err != nil {
		s.Fatal(results[0].Err)
	}
	s.state = after
	s.feed.Applied(before, after, []state.Command{c}, results)
}

// Whoever reads the floor at any moment and adds up the events after it always
// comes to the floor of any later moment.
func TestFloorIsWhatEventsAddUpTo(t *testing.T) {
	for seed := range uint64(20) {
		s := newTelling(t)
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			s.open(1000, true)
			var alive []offers.TaskRef
			step := func(n int) {
				if len(alive) > 0 && random.IntN(2) == 0 {
					i := random.IntN(len(alive))
					s.commit(state.Command{EndTask: &state.EndTask{Ref: alive[i], Status: offers.Status{
						Task: alive[i].Task, Agent: "a00001-c0de", State: offers.Finished, UpdateID: "u", Time: dawn}}})
					alive = append(alive[:i], alive[i+1:]...)
				} else {
					task := state.TaskRecord{Framework: "f00001-c0de", Agent: "a00001-c0de", Role: "eng/ml", Created: dawn,
						Spec:    offers.Task{ID: offers.TaskID(fmt.Sprint("n", n)), Command: &offers.Command{Shell: "true"}},
						Holding: offers.Holding{Amounts: offers.Amounts{int64(random.IntN(300)), gib, 0, 0}}}
					if random.IntN(2) == 0 {
						task.Holding.Devices = offers.OneDevice("gpu", offers.Grant{ID: "g1", Index: 1, Memory: int64(random.IntN(1000)), Share: 10})
					}
					s.commit(state.Command{Launch: &state.Launch{Task: task}})
					alive = append(alive, task.Ref())
				}
				if random.IntN(3) > 0 {
					s.feed.show(s.state)
				}
			}
			for n := range random.IntN(10) {
				step(n)
			}
			after, known := s.readFloor(t)
			for n := range random.IntN(40) {
				step(100 + n)
			}
			s.feed.show(s.state)
			r := s.read(t, "?after="+after+"&follow=false")
			text := r.took()
			if strings.Contains(text, `"gap"`) {
				t.Fatalf("seed %d: a gap after %s: %s", seed, after, text)
			}
			count(t, known, text)
			_, now := s.readFloor(t)
			round(known)
			if !reflect.DeepEqual(known, now) {
				t.Errorf("seed %d: with the events after %s it comes to %+v; it is %+v\n%s", seed, after, known["a00001-c0de"], now["a00001-c0de"], text)
			}
		})
	}
}

// round takes the errors of floating point off sums of thousandths.
func round(agents map[string]*space) {
	to := func(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }
	for _, a := range agents {
		a.Used["cpus"] = to(a.Used["cpus"])
		for _, d := range a.Devices {
			for i := range d.Shares {
				d.Shares[i] = to(d.Shares[i])
			}
		}
	}
}

// Who wants the status gets every one that the leader takes, and others none.
func TestStatusIsToldToWhoWantsIt(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(100, true)
		s.sample(t.Context(), time.Now())
		wants, not := s.read(t, "?status=true"), s.read(t, "")
		if text := wants.took(); strings.Contains(text, "event: status") {
			t.Errorf("the one from before its time comes: %s", text)
		}
		not.took()
		for range 2 {
			s.sample(t.Context(), time.Now())
			if text := wants.took(); strings.Count(text, "event: status\ndata: {\"cluster_id\":\"c0de0123456789abcdef\"") != 1 || strings.Contains(text, "id: ") {
				t.Errorf("who wants it gets %q", text)
			}
			time.Sleep(eventPause)
		}
		if text := not.took(); text != "" {
			t.Errorf("who does not want it gets %q", text)
		}
	})
}

// Who wants the status is told what offers hold, at once and when it changed;
// others are not, and nobody twice.
func TestHeldIsToldToWhoWantsTheStatus(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(100, true)
		tell := func() {
			s.tellHeld(t.Context())
			time.Sleep(2 * eventPause)
		}
		if tell(); s.feed.held != nil {
			t.Error("it is looked at though nobody reads")
		}
		wants, not := s.read(t, "?status=true"), s.read(t, "")
		wants.took() // it has begun
		tell()
		const want = `event: held` + "\n" + `data: {"agents":[{"id":"a00001-c0de","room":{"cpus":0.5,"mem":1073741824,"disk":0,"bandwidth":0}}]}` + "\n\n"
		if text := wants.took(); !strings.Contains(text, want) || strings.Count(text, "event: held") != 1 {
			t.Errorf("who wants it gets %q", text)
		}
		tell()
		if text := wants.took(); text != "" {
			t.Errorf("what has not changed is told: %q", text)
		}
		late := s.read(t, "?status=true")
		if text := late.took(); !strings.Contains(text, want) {
			t.Errorf("who comes late gets %q", text)
		}
		s.shown.Match.Agents[0].Offered = offers.Holding{}
		tell()
		if text := wants.took(); !strings.Contains(text, `data: {"agents":[]}`) {
			t.Errorf("once the offers are gone who wants it gets %q", text)
		}
		if text := not.took(); strings.Contains(text, "held") {
			t.Errorf("who does not want it gets %q", text)
		}
	})
}

func TestUsageOfAnHourIsKept(t *testing.T) {
	f := newFeed()
	for n := range usageKept + 3 {
		f.note(shown.Sample{Time: dawn.Add(time.Duration(n) * usageEvery)})
	}
	kept := f.notes()
	if len(kept) != usageKept || !kept[0].Time.Equal(dawn.Add(3*usageEvery)) || kept[len(kept)-1].Time.Sub(kept[0].Time) != time.Hour-usageEvery {
		t.Errorf("%d samples are kept, from %v", len(kept), kept[0].Time)
	}
}
