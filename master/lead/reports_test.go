package lead

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestReportsStayAsTheyWere changes a book at random and holds it, and every
// view that was taken of it on the way, against maps.
func TestReportsStayAsTheyWere(t *testing.T) {
	type view struct {
		got  Reports
		want map[offers.TaskRef]offers.Status
	}
	rng := rand.New(rand.NewPCG(3, 7))
	book, model, views := newReportBook(), map[offers.TaskRef]offers.Status{}, []view{{}}
	ref := func(n int) offers.TaskRef {
		return offers.TaskRef{Framework: offers.FrameworkID(fmt.Sprint("f", n%3)), Task: offers.TaskID(fmt.Sprint("t", n/3))}
	}
	for n := range 20_000 {
		at := ref(rng.IntN(900))
		if rng.IntN(4) == 0 {
			book.forget(at)
			delete(model, at)
		} else {
			s := someReport(rng)
			model[at] = s
			s.Task, s.Agent, s.UpdateID, s.Address = at.Task, "a1", offers.UpdateID(fmt.Sprint(n)), "host" // which it need not keep
			book.set(at, s)
		}
		if rng.IntN(500) == 0 {
			views = append(views, view{book.reports(), maps.Clone(model)})
		}
	}
	views = append(views, view{book.reports(), model}, view{ReportsOf(model), model})
	for i, v := range views {
		if v.got.Len() != len(v.want) {
			t.Errorf("view %d has %d reports; want %d", i, v.got.Len(), len(v.want))
		}
		for n := range 900 {
			got, ok := v.got.Of(ref(n))
			want, known := v.want[ref(n)]
			if ok != known || !reflect.DeepEqual(got, want) {
				t.Fatalf("view %d: %v is %+v, %v; want %+v, %v", i, ref(n), got, ok, want, known)
			}
		}
	}
	want, known := model[ref(0)]
	if got, ok := book.of(ref(0)); ok != known || !reflect.DeepEqual(got, want) {
		t.Errorf("the book itself says %+v, %v", got, ok)
	}
}

// someReport is one as they are, and now and then one that tells what few do.
func someReport(rng *rand.Rand) offers.Status {
	at := time.Unix(1_900_000_000, rng.Int64N(1e15)).UTC()
	s := offers.Status{State: plainStates[rng.IntN(len(plainStates))], Started: at, Time: at.Add(time.Second)}
	switch rng.IntN(12) {
	case 0:
		s.Started = time.Time{}
	case 1:
		s.Time = time.Time{}
	case 2:
		s.Started = time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC) // too long ago for a number
	case 3:
		s.Healthy = new(rng.IntN(2) == 0)
	case 4:
		s.Reason, s.Message = offers.ReasonDeviceWell, "well again"
	case 5:
		s.Devices = map[string][]offers.Grant{"gpu": {{ID: "g", Memory: 7}}}
	case 6:
		s.State, s.ExitCode, s.Signal = "of another version", new(3), "SIGTERM"
	}
	return s
}
