package lead

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

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
			s := offers.Status{Task: at.Task, UpdateID: offers.UpdateID(fmt.Sprint(n))}
			book.set(at, s)
			model[at] = s
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
			if ok != known || got.UpdateID != want.UpdateID || got.Task != want.Task {
				t.Fatalf("view %d: %v is %+v, %v; want %+v, %v", i, ref(n), got, ok, want, known)
			}
		}
	}
	if got, ok := book.of(ref(0)); ok != (model[ref(0)].Task != "") || got.UpdateID != model[ref(0)].UpdateID {
		t.Errorf("the book itself says %+v, %v", got, ok)
	}
}
