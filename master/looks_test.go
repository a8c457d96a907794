package master

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFewAnswersAreMadeAtOnce, and who reads slowly holds up nobody.
func TestFewAnswersAreMadeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{looks: newGate()}
		var now, most atomic.Int64
		look := func(*http.Request, *picture) (any, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return "an answer", nil
		}
		began := time.Now()
		var asking sync.WaitGroup
		for range 10 * cap(a.looks) {
			asking.Go(func() {
				body, packed, err := a.answer(httptest.NewRequest("GET", "/v1/agents", nil), nil, look)
				if string(body) != "\"an answer\"\n" || packed || err != nil {
					t.Errorf("the answer is %s, packed %t: %v", body, packed, err)
				}
				time.Sleep(time.Hour) // it is read slowly
			})
		}
		asking.Wait()
		if took := time.Since(began) - time.Hour; most.Load() != int64(cap(a.looks)) || took != 10*time.Second {
			t.Errorf("%d were made at once, all in %v; want %d in 10s", most.Load(), took, cap(a.looks))
		}
	})
}
