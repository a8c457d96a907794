package master

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// absentees is agents of which some come when they are called.
type absentees struct {
	mu      sync.Mutex
	missing map[offers.AgentID]bool
	called  map[offers.AgentID][]time.Duration // when
	under   int
	most    int
}

func newAbsentees(n int) *absentees {
	c := &absentees{missing: map[offers.AgentID]bool{}, called: map[offers.AgentID][]time.Duration{}}
	for i := range n {
		c.missing[offers.AgentID(fmt.Sprintf("a%04d", i))] = true
	}
	return c
}

func (c *absentees) come(id offers.AgentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, id)
}

func (c *absentees) list() []*state.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*state.Agent
	for _, id := range slices.Sorted(maps.Keys(c.missing)) {
		out = append(out, &state.Agent{Agent: offers.Agent{ID: id}})
	}
	return out
}

// calls has each call take a while; heard says who comes.
func (c *absentees) calls(begin time.Time, takes time.Duration, heard func(offers.AgentID) bool) *calls {
	return &calls{missing: c.list, call: func(a *state.Agent) {
		c.mu.Lock()
		c.called[a.ID] = append(c.called[a.ID], time.Since(begin))
		c.under++
		c.most = max(c.most, c.under)
		c.mu.Unlock()
		time.Sleep(takes)
		c.mu.Lock()
		c.under--
		c.mu.Unlock()
		if heard(a.ID) {
			c.come(a.ID)
		}
	}}
}

// TestWhoDoesNotComeIsCalled, and nobody else: not while others still come by
// themselves, again where a call was not heard, and no more than so often.
func TestWhoDoesNotComeIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newAbsentees(4)
		deaf := true
		go func() {
			time.Sleep(callAfter / 2)
			c.come("a0000")
			time.Sleep(callAfter)
			c.come("a0001")
		}()
		c.calls(time.Now(), time.Millisecond, func(id offers.AgentID) bool {
			if id == "a0002" && deaf {
				deaf = false
				return false
			}
			return id == "a0002"
		}).run(t.Context())
		first := 3 * callAfter // the first moment after which nobody came for a while
		want := map[offers.AgentID]int{"a0002": 2, "a0003": callRounds}
		for id, n := range want {
			if got := c.called[id]; len(got) != n || got[0] != first {
				t.Errorf("%s was called at %v; want %d times, first at %v", id, got, n, first)
			}
		}
		if len(c.called) != len(want) {
			t.Errorf("called were %v", c.called)
		}
		// After the first time one of two came, so the second is left a moment more.
		gaps := []time.Duration{callAgain, callAgain + callAfter}
		for n, gap := range gaps {
			if got := c.called["a0003"]; got[n+1]-got[n] != gap+time.Millisecond {
				t.Errorf("a0003 was called at %v; want %v and the time of a call between", got, gaps)
			}
		}
	})
}

// TestCallsAreFewAtOnce and end with the leader.
func TestCallsAreFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := newAbsentees(1000), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), callAfter+5*callTimeout/2)
		defer cancel()
		c.calls(begin, callTimeout, func(offers.AgentID) bool { return false }).run(ctx)
		if took := time.Since(begin); took > callAfter+3*callTimeout || c.most != callsAtOnce || len(c.called) != 3*callsAtOnce {
			t.Errorf("it took %v, with %d at once; called were %d", took, c.most, len(c.called))
		}
	})
}

// TestNobodyToCall: a cluster without agents costs nothing.
func TestNobodyToCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		newAbsentees(0).calls(begin, 0, nil).run(t.Context())
		if took := time.Since(begin); took > 0 {
			t.Errorf("it waited %v for nobody", took)
		}
	})
}

// TestCallsEndWithTheLeadership: one that is under way is given up.
func TestCallsEndWithTheLeadership(t *testing.T) {
	s := newStage(t)
	called, ended := make(chan wire.MasterInfo), make(chan struct{})
	p := s.connect(s.serveAgent, wire.ToAgent)
	p.send(&wire.RegisterAgent{Agent: offers.Agent{Name: "a", Host: "h", Address: "127.0.0.1:1", Total: offers.Inventory{Amounts: offers.Amounts{1000}}}}, "")
	expect[*wire.AgentRegistered](p)
	s.inbox.enter(func(*lead.Core) {
		s.config.call = func(ctx context.Context, _ *state.Agent, m wire.MasterInfo) error {
			called <- m
			<-ctx.Done()
			close(ended)
			return ctx.Err()
		}
		s.stepDown("the test says so")
		s.takeUp()
	})
	if m := <-called; m.Name != "m1" || m.Address != "127.0.0.1:1" {
		t.Errorf("it is called in the name of %+v", m)
	}
	s.inbox.enter(func(*lead.Core) { s.stepDown("the test says so again") })
	<-ended
}

// TestCallsKeepTheToken: to an agent without TLS none goes from a master with it.
func TestCallsKeepTheToken(t *testing.T) {
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	some := httptest.NewTLSServer(http.NotFoundHandler())
	defer some.Close()
	cert := some.TLS.Certificates[0]
	raw, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	d, err := door.Open(door.Config{Token: "sesame", CertFile: write("cert.pem", "CERTIFICATE", cert.Certificate[0]), KeyFile: write("key.pem", "PRIVATE KEY", raw)})
	if err != nil {
		t.Fatal(err)
	}
	a := &state.Agent{Agent: offers.Agent{ID: "a1", Address: strings.TrimPrefix(server.URL, "http://")}}
	if err := (&caller{d, http.DefaultTransport}).call(t.Context(), a, wire.MasterInfo{Name: "m2", Address: "127.0.0.1:1", Term: 7}); err != nil || token != "" {
		t.Errorf("%v: it sent %q", err, token)
	}
}

// TestCallOverHTTP says who leads, with the token where the way to the agent is safe,
// and says why an agent did not take it.
func TestCallOverHTTP(t *testing.T) {
	var path, token, body string
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := new(strings.Builder)
		if err := r.Write(text); err != nil {
			t.Error(err)
		}
		_, body, _ = strings.Cut(text.String(), "\r\n\r\n")
		path, token = r.Method+" "+r.URL.Path, r.Header.Get("Authorization")
		w.WriteHeader(status)
	}))
	defer server.Close()
	d, err := door.Open(door.Config{Token: "sesame", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{d, http.DefaultTransport}
	a := &state.Agent{Agent: offers.Agent{ID: "a1", Address: strings.TrimPrefix(server.URL, "http://")}}
	m := wire.MasterInfo{Name: "m2", Address: "127.0.0.1:5051", Term: 7}
	if err := c.call(t.Context(), a, m); err != nil || path != "POST /v1/leader" || token != "Bearer sesame" || !strings.Contains(body, `{"name":"m2","address":"127.0.0.1:5051","term":7}`) {
		t.Errorf("%v: %s with %q and %q", err, path, token, body)
	}
	status = http.StatusUnauthorized
	if err := c.call(t.Context(), a, m); err == nil || err.Error() != "it answers 401 Unauthorized" {
		t.Errorf("a call that is refused: %v", err)
	}
	server.Close()
	if err := c.call(t.Context(), a, m); err == nil {
		t.Error("a call that nobody takes was heard")
	}
}
