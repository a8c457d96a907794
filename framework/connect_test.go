package framework

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestPauseStaysShortWhileMastersElect: for as long as the others have not
// noticed, they send everybody to the leader that has just died.
func TestPauseStaysShortWhileMastersElect(t *testing.T) {
	nobody := errors.New("connection refused")
	electing := &wire.StatusError{Status: 503}
	toDead := &wire.RedirectError{Location: "ws://dead"}
	repeat := func(n int, errs ...error) (out []error) {
		for range n {
			out = append(out, errs...)
		}
		return out
	}
	for name, c := range map[string]struct {
		errs []error
		want time.Duration // base of the next pause
	}{
		"nobody answers":        {repeat(10, nobody), longestPause},
		"electing":              {repeat(10, electing), electionPause},
		"sent to a dead leader": {repeat(10, toDead, nobody), electionPause},
		"one to the other":      {repeat(30, toDead), electionPause},
		"one dead, two elect":   {repeat(10, electing, nobody, electing), electionPause},
		"a leader after long":   {append(repeat(10, nobody), toDead, nobody), electionPause},
	} {
		s := search{pause: firstPause}
		var waited time.Duration
		for _, err := range c.errs {
			waited = s.after(err)
		}
		if s.pause != c.want {
			t.Errorf("%s: %v; want %v", name, s.pause, c.want)
		}
		if limit := 3 * c.want / 2; waited > limit {
			t.Errorf("%s: the last pause was %v, over %v", name, waited, limit)
		}
	}
}

// wires is a network of masters as one framework reaches it.
type wires map[string]func(context.Context) (wire.Link, error)

func (w wires) dial(ctx context.Context, url string) (wire.Link, error) {
	return w[strings.TrimSuffix(strings.TrimPrefix(url, "ws://"), wire.FrameworkPath)](ctx)
}

// stopped is a master that takes connections and says nothing.
func stopped(ctx context.Context) (wire.Link, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func sentTo(master string) func(context.Context) (wire.Link, error) {
	return func(context.Context) (wire.Link, error) {
		return nil, &wire.RedirectError{Location: "ws://" + master + wire.FrameworkPath}
	}
}

// leading is a master that takes a while to answer and then leads.
func leading(t *testing.T, after time.Duration) func(context.Context) (wire.Link, error) {
	cluster := &frameworktest.Cluster{}
	return func(ctx context.Context) (wire.Link, error) {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		ours, theirs := wire.Pipe(wire.Options{})
		go cluster.Serve(theirs)
		return ours, nil
	}
}

// TestStoppedMasterHoldsNobodyUp: whichever masters are stopped, the one that
// leads is reached about as soon as it does.
func TestStoppedMasterHoldsNobodyUp(t *testing.T) {
	for name, c := range map[string]struct {
		masters wires
		want    time.Duration
	}{
		"the first is stopped":            {wires{"a:1": stopped, "b:1": leading(t, 0), "c:1": stopped}, stagger},
		"two are stopped":                 {wires{"a:1": stopped, "b:1": stopped, "c:1": leading(t, 0)}, 2 * stagger},
		"the leader is slow":              {wires{"a:1": stopped, "b:1": leading(t, 2*time.Second), "c:1": sentTo("b:1")}, 2*time.Second + stagger},
		"the leader has just stopped":     {wires{"a:1": sentTo("b:1"), "b:1": stopped, "c:1": electedAfter(t, time.Second, "b:1")}, 2 * time.Second},
		"all stop, and one after another": {wires{"a:1": stopped, "b:1": stopped, "c:1": electedAfter(t, 4*time.Second, "b:1")}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var dials atomic.Int64
				dial := func(ctx context.Context, url string) (wire.Link, error) {
					dials.Add(1)
					return c.masters.dial(ctx, url)
				}
				client, err := Connect(t.Context(), Config{Masters: []string{"a:1", "b:1", "c:1"}, Dial: dial, Info: wire.FrameworkInfo{Name: "n"}})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > c.want {
					t.Errorf("it took %v, want at most %v", took, c.want)
				}
				if limit := 4 + 6*int64(c.want/time.Second); dials.Load() > limit {
					t.Errorf("%d dials in %v, want at most %d", dials.Load(), c.want, limit)
				}
				client.Close()
			})
		})
	}
}

// electedAfter sends to a master that leads no more until it leads itself.
func electedAfter(t *testing.T, after time.Duration, before string) func(context.Context) (wire.Link, error) {
	lead, follow := leading(t, 0), sentTo(before)
	began := sync.OnceValue(time.Now) // in the bubble
	return func(ctx context.Context) (wire.Link, error) {
		if time.Since(began()) < after {
			return follow(ctx)
		}
		return lead(ctx)
	}
}

// TestSlowerLinkIsClosed: of two masters that take the connection one gets it,
// and the other does not wait for a registration for ever.
func TestSlowerLinkIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan wire.Link, 1)
		masters := wires{
			"a:1": func(context.Context) (wire.Link, error) {
				time.Sleep(2 * time.Second) // it does not look at its context
				ours, theirs := wire.Pipe(wire.Options{})
				late <- theirs
				return ours, nil
			},
			"b:1": leading(t, time.Second),
		}
		client, err := Connect(t.Context(), Config{Masters: []string{"a:1", "b:1"}, Dial: masters.dial, Info: wire.FrameworkInfo{Name: "n"}})
		if err != nil {
			t.Fatal(err)
		}
		link, ended := <-late, make(chan error, 1)
		go func() {
			_, err := link.Receive()
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the slower master hears something")
			}
		case <-time.After(time.Second):
			t.Error("the slower master waits")
		}
		link.Close("closed")
		client.Close()
	})
}
