package master

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestAsidesLeaveHalfOfTheTime to the work of the loop, however many ask for however
// long ones; too many are refused.
func TestAsidesLeaveHalfOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long, storm, lasts = 100 * time.Millisecond, 500, time.Minute
		l := turning(t, &agreement{})
		running, stop := context.WithCancel(t.Context())
		go l.run(running)
		ctx, over := context.WithTimeout(t.Context(), lasts)
		defer over()
		var asking sync.WaitGroup
		var done, refused atomic.Int64
		for range storm {
			asking.Go(func() {
				for ctx.Err() == nil {
					_, err := aside(ctx, l, func(*lead.Core) bool { time.Sleep(long); return true })
					switch {
					case err == nil:
						done.Add(1)
					case errors.Is(err, &offers.Error{Code: offers.RateLimited}):
						refused.Add(1)
						time.Sleep(time.Second)
					case ctx.Err() == nil:
						t.Error(err)
					}
				}
			})
		}
		for ctx.Err() == nil { // what is to be done beside them
			began := time.Now()
			if _, err := l.state(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited > 2*long {
				t.Fatalf("the loop does not come to its work for %v", waited)
			}
			time.Sleep(7 * time.Millisecond)
		}
		asking.Wait()
		stop()
		<-l.stopped
		if n, half := done.Load(), int64(lasts/long/2); n > half+1 || n < half*9/10 || refused.Load() == 0 {
			t.Errorf("%d were done and %d refused, want nearly %d and some", n, refused.Load(), half)
		}
	})
}

// TestAsideIsGivenUp where it waits, and leaves its place and its turn to others.
func TestAsideIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := turning(t, &agreement{})
		var waiting sync.WaitGroup
		for range maxAsides { // one waits for the loop, which does not run yet, and the others for that
			waiting.Go(func() {
				ctx, over := context.WithTimeout(t.Context(), time.Second)
				defer over()
				_, err := aside(ctx, l, func(*lead.Core) bool { t.Error("what was given up is done"); return true })
				if !errors.Is(err, &offers.Error{Code: offers.Unavailable}) {
					t.Errorf("it ends with %v", err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		running, stop := context.WithCancel(t.Context())
		go l.run(running)
		waiting.Wait()
		if got, err := aside(t.Context(), l, func(*lead.Core) bool { return true }); !got || err != nil {
			t.Errorf("the next one ends with %t, %v", got, err)
		}
		stop()
		<-l.stopped
	})
}
