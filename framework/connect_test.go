package framework

import (
	"errors"
	"testing"
	"time"

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
