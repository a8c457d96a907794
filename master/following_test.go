package master

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// led is a replica that follows whoever serves at an address, until it is told
// of another leader.
type led struct {
	at      string
	changed chan struct{}
}

func (l *led) Leader() (replica.Member, bool) {
	return replica.Member{ID: "m1@1", Name: "m1", HTTP: l.at}, true
}
func (l *led) LeaderChanged() <-chan struct{} { return l.changed }
func (l *led) Self() replica.Member           { return replica.Member{ID: "m2@2", Name: "m2"} }

func newFollowing(t *testing.T, at, token string) *following {
	t.Helper()
	d, err := door.Open(door.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return &following{replica: &led{at, make(chan struct{})}, door: d, version: "test", workers: 2, logger: hclog.NewNullLogger()}
}

// TestFollowingBesideALeader: a leader places by what a follower sends, on
// connections and goroutines of their own, and goes on when it leaves.
func TestFollowingBesideALeader(t *testing.T) {
	c := masterConfig(t, "m1")
	c.Placement = offers.LeastRequested
	m := runMaster(t, c)
	<-m.Ready()
	f := m.onAgent(t, `{"cpus":100}`, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { newFollowing(t, m.Address(), "").run(ctx) })
	placed := func() uint64 {
		f.wait(`{"id":"d","count":1,"resources":{"cpus":1}}`)
		p, err := m.loop.picture(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p.Match.Counters.Afar
	}
	for end := time.Now().Add(30 * time.Second); placed() == 0; {
		if time.Now().After(end) {
			t.Fatal("nothing is placed by the lists of the follower")
		}
	}
	cancel()
	following.Wait()
	for range 3 {
		placed()
	}
}

// TestFollowingAsksForTheToken: a leader lets nobody pre-match who does not show
// the cluster's token, and who does is let in.
func TestFollowingAsksForTheToken(t *testing.T) {
	s := newScene(t, "secret")
	at := strings.TrimPrefix(s.server.URL, "http://")
	for token, says := range map[string]string{"": "peer needs the cluster's token", "wrong": "peer needs the cluster's token", "secret": "seen"} {
		f := newFollowing(t, at, token)
		if err := f.assist(t.Context(), f.replica.LeaderChanged(), replica.Member{Name: "m1", HTTP: at}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("with the token %q: %v; it says %q", token, err, says)
		}
	}
}
