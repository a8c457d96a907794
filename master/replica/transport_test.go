package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestOldAnswersAreCounted: an answer is old by when it was asked for.
func TestOldAnswersAreCounted(t *testing.T) {
	for _, fresh := range []time.Duration{0, time.Hour} {
		c, d := config(t, "m1"), config(t, "m2")
		from, err := openPort(c, "m1@1")
		if err != nil {
			t.Fatal(err)
		}
		to, err := openPort(d, "m2@1")
		if err != nil {
			t.Fatal(err)
		}
		from.idAt = func(string) string { return "m2@1" }
		to.serve()
		asks, answers := newTransport(from, 2*fresh, c.Logger), newTransport(to, 2*fresh, d.Logger)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			call := <-answers.Consumer()
			call.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
		}()
		var resp raft.AppendEntriesResponse
		err = asks.AppendEntries("m2@1", raft.ServerAddress(to.advertised), &raft.AppendEntriesRequest{Term: 1}, &resp)
		<-answered
		if late := asks.late.Load(); err != nil || !resp.Success || late != 1 && fresh == 0 || late != 0 && fresh > 0 {
			t.Errorf("%d old answers where they are new for %v: %v", late, fresh, err)
		}
		_, _ = asks.Close(), answers.Close()
	}
}

// TestOldAnswersConfirmNobody: it is asked again as long as any came.
func TestOldAnswersConfirmNobody(t *testing.T) {
	for _, c := range []struct {
		late, asked int
		want        error
	}{{0, 1, nil}, {1, 2, nil}, {4, 5, nil}, {5, 5, raft.ErrLeadershipLost}, {9, 5, raft.ErrLeadershipLost}} {
		asked := 0
		var r transport
		err := r.confirm(func() error {
			if asked++; asked <= c.late {
				r.late.Add(1)
			}
			return nil
		})
		if !errors.Is(err, c.want) || asked != c.asked {
			t.Errorf("old answers to %d: asked %d times, %v; want %d times, %v", c.late, asked, err, c.asked, c.want)
		}
	}
	asked := 0
	if err := new(transport).confirm(func() error { asked++; return raft.ErrNotLeader }); !errors.Is(err, raft.ErrNotLeader) || asked != 1 {
		t.Errorf("asked %d times whoever does not lead: %v", asked, err)
	}
}
