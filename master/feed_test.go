package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// telling is a scene whose feed is told by the test.
type telling struct {
	*scene
	state *state.State
}

func newTelling(t *testing.T) *telling {
	s := newScene(t, "")
	return &telling{s, s.shown.State}
}

// open gives the scene a feed of the bubble that the test runs in.
func (s *telling) open(kept int, leads bool) {
	s.feed = &feed{buffer: events.NewBuffer(kept)}
	s.feed.Loaded(s.state)
	if leads {
		s.feed.lead(wire.MasterInfo{Name: "m1", Address: self.HTTP, Term: 7}, 1, s.state, time.Now())
	}
}

// role commits a change that this master has not acted on yet.
func (s *telling) role(name offers.Role) {
	s.Helper()
	batch := []state.Command{{SetRole: &state.SetRole{Role: name, Settings: &offers.RoleSettings{Weight: 2}}}}
	before := s.state
	var results []state.Result
	if s.state, results = before.Apply(batch); results[0].Err != nil {
		s.Fatal(results[0].Err)
	}
	s.feed.Applied(before, s.state, batch, results)
}

// acted commits a change and acts on it.
func (s *telling) acted(name offers.Role) {
	s.role(name)
	s.feed.show(s.state)
}

// tape is an answer as it is written. It blocks while it is held, as a reader
// does who does not read.
type tape struct {
	http.ResponseWriter
	mu     sync.Mutex
	text   strings.Builder
	header http.Header
	status int
	held   chan struct{} // closed when it goes on
	broken error
	ended  chan struct{}
}

func (w *tape) Header() http.Header    { return w.header }
func (w *tape) WriteHeader(status int) { w.status = status }
func (w *tape) FlushError() error      { return nil }
func (w *tape) Write(p []byte) (int, error) {
	if w.held != nil {
		<-w.held
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	return w.text.Write(p)
}

// took returns what was written since the last time.
func (w *tape) took() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.text.Reset()
	return w.text.String()
}

// read begins to read in a goroutine of the bubble.
func (s *telling) read(t *testing.T, query string, header ...string) *tape {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events"+query, nil)
	r.Host = "127.0.0.1:5050"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &tape{header: http.Header{}, status: http.StatusOK, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		s.ServeHTTP(w, r)
	}()
	return w
}

// TestStreamIsGolden compares what readers get, and when, on virtual time with
// testdata/events.golden; UPDATE_GOLDEN=1 writes it anew.
func TestStreamIsGolden(t *testing.T) {
	s := newTelling(t)
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s.open(100, true)
		all, some := s.read(t, ""), s.read(t, "?type=role_set&role=eng")
		say := func(what string) {
			for i, w := range []*tape{all, some} {
				if text := w.took(); text != "" {
					fmt.Fprintf(&out, "== %v, %s: reader %d\n%s", time.Since(begin), what, i+1, text)
				}
			}
		}
		say("the beginning")
		time.Sleep(time.Second)
		s.role("eng")
		say("nothing, since the leader has not acted on it")
		s.feed.show(s.state)
		say("the first comes at once")
		s.acted("ops")
		s.acted("ops")
		s.feed.tell([]events.Event{{Type: events.AgentDisconnected, Time: time.Now().UTC(), Agent: "a1"}})
		say("nothing, since more may come")
		time.Sleep(eventPause)
		say("the rest comes together")
		time.Sleep(eventBeat)
		say("a quiet stream lives")
		s.feed.cease()
		say("nothing, since it leads no more")
		for i, w := range []*tape{all, some} {
			select {
			case <-w.ended:
			default:
				t.Errorf("the stream of reader %d goes on", i+1)
			}
		}
	})
	const file = "testdata/events.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || out.String() != string(want) {
		t.Errorf("%v; it differs from %s (UPDATE_GOLDEN=1 writes it anew):\n%s", err, file, &out)
	}
}

// A reader who does not read holds up nobody, and is told what it missed.
func TestSlowReaderGetsAGap(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(8, true)
		quick, slow := s.read(t, ""), s.read(t, "")
		slow.took()
		slow.held = make(chan struct{})
		for n := range 20 {
			s.acted(offers.Role(fmt.Sprint("r", n)))
			time.Sleep(eventPause)
		}
		if text := quick.took(); strings.Count(text, `"role_set"`) != 20 || strings.Contains(text, "gap") {
			t.Errorf("the quick one has %s", text)
		}
		close(slow.held)
		time.Sleep(eventPause)
		text := slow.took()
		if strings.Count(text, `"type":"gap"`) != 1 || !strings.Contains(text, `"lost":19`) || strings.Count(text, "role_set") != 1 {
			t.Errorf("the slow one has %s", text)
		}
		if readers, gaps, dropped := s.feed.counts(); readers != 2 || gaps != 1 || dropped != 19 {
			t.Errorf("%d readers, %d gaps, %d dropped", readers, gaps, dropped)
		}
		s.acted("after")
		time.Sleep(eventPause)
		if text := slow.took(); !strings.Contains(text, `"role":"after"`) {
			t.Errorf("after the gap it gets %q", text)
		}
		slow.mu.Lock()
		slow.broken = errors.New("the reader has left")
		slow.mu.Unlock()
		s.acted("more")
		<-slow.ended
		if readers, _, _ := s.feed.counts(); readers != 1 {
			t.Errorf("%d readers, one of them has left", readers)
		}
	})
}

// idOf returns the id of the last event of a text.
func idOf(text string) string {
	at := strings.LastIndex(text, "id: ")
	id, _, _ := strings.Cut(text[at+len("id: "):], "\n")
	return id
}

// A stream that broke off is gone on with at another master, with the newer of
// the two places that a browser names; where that can't be, a gap says so.
func TestStreamIsGoneOnWithElsewhere(t *testing.T) {
	first, second := newTelling(t), newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		first.open(100, true)
		second.open(4, false)
		r := first.read(t, "")
		begin := idOf(r.took())
		first.acted("one")
		first.feed.tell([]events.Event{{Type: events.AgentDisconnected, Agent: "a1"}})
		time.Sleep(eventPause)
		half := idOf(r.took())
		first.acted("two")
		time.Sleep(eventPause)
		r.took()

		second.role("one")
		second.role("two")
		second.feed.lead(wire.MasterInfo{Name: "m2", Term: 8}, 1, second.state, time.Now())
		roles := func(text string) (out []string) {
			for line := range strings.Lines(text) {
				if _, rest, found := strings.Cut(line, `"role":"`); found {
					name, _, _ := strings.Cut(rest, `"`)
					out = append(out, name)
				}
			}
			return out
		}
		for _, c := range []struct {
			query, header string
			want          string
			gap           bool
		}{
			{"?after=" + half, "", "[two]", false},
			{"?after=" + begin, half, "[two]", false},
			{"?after=" + begin, "", "[one two]", false},
			{"?after=oldest", "", "[one two]", false},
			{"", "", "[]", false},
			{"?after=0000beef.1.0", "", "[]", true},
			{"?after=" + strings.SplitAfterN(half, ".", 2)[0] + "999999.0", "", "[]", true},
		} {
			w := second.read(t, c.query+map[bool]string{true: "&", false: "?"}[c.query != ""]+"follow=false", "Last-Event-ID", c.header)
			text := w.took()
			if got := fmt.Sprint(roles(text)); got != c.want || strings.Contains(text, `"gap"`) != c.gap {
				t.Errorf("%s after %q: %s, want %s", c.query, c.header, text, c.want)
			}
			<-w.ended
		}
		for n := range 4 {
			second.acted(offers.Role(fmt.Sprint("r", n)))
		}
		if text := second.read(t, "?follow=false&after="+half).took(); !strings.Contains(text, `"gap"`) || strings.Contains(text, "role_set") {
			t.Errorf("what is not kept any more: %s", text)
		}
	})
}

// A follower sends readers to the leader, save those who take what it has; one
// of these who is ahead of it gets nothing twice.
func TestFollowerSendsReadersToTheLeader(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(100, false)
		s.leader = replica.Member{ID: "m2@2", Name: "m2", HTTP: "127.0.0.2:5050"}
		w := s.read(t, "?type=agent&after=oldest")
		<-w.ended
		if w.status != http.StatusTemporaryRedirect || w.header.Get("Location") != "http://127.0.0.2:5050/v1/events?type=agent&after=oldest" {
			t.Errorf("%d to %q: %s", w.status, w.header.Get("Location"), &w.text)
		}
		s.role("one")
		_, at := s.feed.buffer.End()
		at.Command++
		ahead := s.read(t, "?stale=true&after="+at.String())
		ahead.took()
		s.role("two")
		s.role("three")
		time.Sleep(eventPause)
		if text := ahead.took(); strings.Contains(text, "two") || !strings.Contains(text, "three") || strings.Contains(text, "gap") {
			t.Errorf("a reader who has had two gets %s", text)
		}
		s.feed.lead(wire.MasterInfo{Name: "m1", Term: 8}, 1, s.state, time.Now())
		s.feed.cease()
		ahead.took()
		select {
		case <-ahead.ended:
			t.Error("the reader does not care who leads, and its stream ends")
		default:
		}
	})
}

// A restore is told to everybody, and nothing goes on across it.
func TestRestoreIsTold(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(100, true)
		w := s.read(t, "?type=task")
		before := idOf(w.took())
		restored := s.state.Replacing(s.state, 7, time.Now())
		s.feed.Restored(restored, time.Now().UTC())
		s.feed.show(restored)
		if text := w.took(); !strings.Contains(text, `"type":"restored"`) {
			t.Errorf("a restore is told as %q", text)
		}
		if text := s.read(t, "?follow=false&after="+before).took(); !strings.Contains(text, `"gap"`) {
			t.Errorf("across a restore it goes on with %s", text)
		}
	})
}

func TestReadersAreBounded(t *testing.T) {
	f := newFeed()
	f.lead(wire.MasterInfo{}, 1, state.New(), time.Now())
	for range maxReaders {
		if _, err := f.enter(nil, false, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.enter(nil, false, false); !errors.Is(err, &offers.Error{Code: offers.RateLimited}) {
		t.Errorf("one more: %v", err)
	}
}

// One connection that is broken or slow costs the server only itself, and the
// stream is one that a plain HTTP client reads.
func TestStreamOverHTTP(t *testing.T) {
	s := newTelling(t)
	s.open(100, true)
	resp, err := http.Get(s.server.URL + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	s.acted("eng")
	buf, text := make([]byte, 4096), ""
	for !strings.Contains(text, `"role":"eng"`) {
		n, err := resp.Body.Read(buf)
		if text += string(buf[:n]); err != nil {
			t.Fatalf("%v after %s", err, text)
		}
	}
	s.feed.cease()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream of a leader that leads no more ends with %v", err)
	}
}

// TestOffersAreForThoseWhoAsk: what becomes of offers is wanted while somebody
// reads who asked for it, and nobody else gets it.
func TestOffersAreForThoseWhoAsk(t *testing.T) {
	s := newTelling(t)
	synctest.Test(t, func(t *testing.T) {
		s.open(100, true)
		all := s.read(t, "")
		all.took()
		if s.feed.matchingWanted() {
			t.Error("offers are wanted, and nobody asked")
		}
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events?type=offer,role", nil)
		r.Host = "127.0.0.1:5050"
		w := &tape{header: http.Header{}, status: http.StatusOK, ended: make(chan struct{})}
		go func() {
			defer close(w.ended)
			s.ServeHTTP(w, r)
		}()
		w.took()
		if !s.feed.matchingWanted() {
			t.Error("offers are not wanted, and somebody asked")
		}
		s.feed.tell([]events.Event{
			{Type: events.OfferMade, Time: time.Now().UTC(), Offer: "o1-7"}, {Type: events.AgentDisconnected, Time: time.Now().UTC(), Agent: "a1"},
		})
		if text := w.took(); !strings.Contains(text, `"type":"offer_made"`) || !strings.Contains(text, `"offer_id":"o1-7"`) || strings.Contains(text, "agent_disconnected") {
			t.Errorf("who asked got %q", text)
		}
		if text := all.took(); strings.Contains(text, "offer") || !strings.Contains(text, "agent_disconnected") {
			t.Errorf("who did not ask got %q", text)
		}
		leave()
		<-w.ended
		if s.feed.matchingWanted() {
			t.Error("offers are still wanted")
		}
		s.feed.cease()
		<-all.ended
	})
}
