package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire/wiretest"
)

// hosts is a network in memory: who listens where. Whoever is nil is stopped:
// it takes connections and reads nothing.
type hosts map[string]http.Handler

func (h hosts) client(t *testing.T, masters ...string) *Client {
	d, err := door.Open(door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cl := NewClient(masters, d)
	cl.http.Transport.(*http.Transport).DialContext = func(_ context.Context, _, at string) (net.Conn, error) {
		handler, there := h[at]
		if !there {
			return nil, errors.New("connection refused")
		}
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		if handler != nil {
			door := make(wiretest.Lobby, 1)
			door <- theirs
			server := &http.Server{Handler: handler}
			go server.Serve(door)
			t.Cleanup(func() { close(door); server.Close() })
		}
		return ours, nil
	}
	return cl
}

// TestStoppedMasterHoldsNoCommandUp: a command finds the leader although the
// first master is stopped, or the one that the others still take for the
// leader. It tells when that takes long.
func TestStoppedMasterHoldsNoCommandUp(t *testing.T) {
	leads := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("done")) })
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			time.Sleep(10 * time.Second)
		}
		leads(w, r)
	})
	sentTo := func(at string, until time.Duration) http.Handler {
		began := time.Time{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				return
			}
			if began.IsZero() {
				began = time.Now()
			}
			if time.Since(began) >= until {
				leads(w, r)
				return
			}
			http.Redirect(w, r, "http://"+at+r.URL.Path, http.StatusTemporaryRedirect)
		})
	}
	for name, c := range map[string]struct {
		network hosts
		want    time.Duration
	}{
		"the first leads":             {hosts{"a:1": leads, "b:1": nil, "c:1": nil}, 0},
		"the first is stopped":        {hosts{"a:1": nil, "b:1": leads}, probePatience},
		"two are stopped":             {hosts{"a:1": nil, "b:1": nil, "c:1": leads}, 2 * probePatience},
		"the first is gone":           {hosts{"b:1": leads}, 0},
		"the answer takes long":       {hosts{"a:1": slow, "b:1": leads}, 10 * time.Second},
		"the leader has just stopped": {hosts{"a:1": sentTo("b:1", 2*time.Second), "b:1": nil}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := c.network.client(t, "a:1", "b:1", "c:1")
				defer cl.Close()
				for _, most := range []time.Duration{c.want, c.want} {
					began, late := time.Now(), 0
					cl.Late = func() { late++ }
					text, err := cl.Send(t.Context(), http.MethodPost, "/v1/order", []byte("{}"))
					if err != nil || string(text) != "done" {
						t.Fatalf("%q, %v", text, err)
					}
					if took := time.Since(began); took > most {
						t.Errorf("it took %v, want at most %v", took, most)
					} else if took < lateAfter && late != 0 || took > lateAfter && late != 1 {
						t.Errorf("it took %v, and was told to be late %d times", took, late)
					}
				}
			})
		})
	}
}

// TestLateStreams are told of once, while their answer has not begun.
func TestLateStreams(t *testing.T) {
	for wait, want := range map[time.Duration]int{lateAfter / 2: 0, 2 * lateAfter: 1} {
		synctest.Test(t, func(t *testing.T) {
			cl := hosts{"a:1": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(wait) })}.client(t, "a:1")
			defer cl.Close()
			late := 0
			cl.Late = func() { late++ }
			_, done, err := cl.Stream(t.Context(), "/v1/events")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * lateAfter) // nothing is late any more
			if done(); late != want {
				t.Errorf("a stream that began after %v was late %d times, want %d", wait, late, want)
			}
		})
	}
}

// TestAllReadsEveryPage: a list is read to its end, filtered as was asked, and no
// further than somebody wants.
func TestAllReadsEveryPage(t *testing.T) {
	asked := []string{}
	lists := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		from, _ := strconv.Atoi(r.URL.Query().Get("next"))
		page := Tasks{Tasks: []Task{{ID: offers.TaskID(fmt.Sprint("t", from))}, {ID: offers.TaskID(fmt.Sprint("t", from+1))}}}
		if from < 4 {
			page.Next = strconv.Itoa(from + 2)
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	synctest.Test(t, func(t *testing.T) {
		cl := hosts{"a:1": lists}.client(t, "a:1")
		defer cl.Close()
		query := url.Values{"state": {"running"}}
		var all []offers.TaskID
		for task, err := range All(t.Context(), cl, "/v1/tasks", query, Tasks.Page) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, task.ID)
		}
		if want := []offers.TaskID{"t0", "t1", "t2", "t3", "t4", "t5"}; !slices.Equal(all, want) {
			t.Errorf("read %v", all)
		}
		if want := []string{"state=running", "next=2&state=running", "next=4&state=running"}; !slices.Equal(asked, want) || len(query) != 1 {
			t.Errorf("asked %q; the query is %v", asked, query)
		}
		asked = nil
		for range All(t.Context(), cl, "/v1/tasks", query, Tasks.Page) {
			break
		}
		if len(asked) != 1 {
			t.Errorf("for one task it asked %q", asked)
		}
	})
}

func TestAllEndsWithAnError(t *testing.T) {
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(Problem{offers.Error{Code: offers.BadMessage, Message: "so not"}})
	})
	synctest.Test(t, func(t *testing.T) {
		cl := hosts{"a:1": refuses}.client(t, "a:1")
		defer cl.Close()
		turns := 0
		for _, err := range All(t.Context(), cl, "/v1/tasks", nil, Tasks.Page) {
			var refused *AnswerError
			if turns++; !errors.As(err, &refused) || refused.Status != 400 || refused.Cause.Code != offers.BadMessage || err.Error() != "so not" {
				t.Errorf("%v", err)
			}
		}
		if turns != 1 {
			t.Errorf("%d turns", turns)
		}
	})
}

// TestFollowerGoesOn: a stream of events that breaks off is read on after the
// last event that was heard, each once.
func TestFollowerGoesOn(t *testing.T) {
	asked := []string{}
	at := func(n int) string { return fmt.Sprintf("00000000.%d.0", n) }
	tells := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		asked = append(asked, r.URL.Query().Get("after"))
		from := 2 * len(asked)
		fmt.Fprintf(w, "retry: 1000\n\n:\n\nid: %s\ndata: {\"id\":%q,\"type\":\"task_ended\",\"task_id\":\"t%d\"}\n\nid: %s\n\n", at(from), at(from), from, at(from+1))
	})
	synctest.Test(t, func(t *testing.T) {
		cl := hosts{"a:1": tells}.client(t, "a:1")
		defer cl.Close()
		enough := errors.New("enough")
		var heard []string
		f := Follower{Client: cl, Query: url.Values{}, Hear: func(data []byte) error {
			e, err := Event(data)
			if err != nil || e.Type != events.TaskEnded {
				t.Errorf("%s: %+v, %v", data, e, err)
			}
			if heard = append(heard, string(e.Task)); len(heard) == 3 {
				return enough
			}
			return nil
		}}
		if err := f.Run(t.Context()); err != enough {
			t.Errorf("it ended with %v", err)
		}
		if strings.Join(heard, " ") != "t2 t4 t6" || !slices.Equal(asked, []string{"", at(3), at(5)}) {
			t.Errorf("heard %q after asking for %q", heard, asked)
		}
		if _, err := Event([]byte("{")); err == nil {
			t.Error("half an event was read")
		}
	})
}

// TestOrdersForOnceAreNotRepeated where they may have been carried out, and are where
// that can't be; others are repeated either way.
func TestOrdersForOnceAreNotRepeated(t *testing.T) {
	const transfer, kill = "/v1/leader/transfer", "/v1/tasks/t1/kill"
	breaks := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	answers := func(status int, code offers.Code) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(Problem{offers.Error{Code: code, Message: "so not"}})
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client leaves
		<-r.Context().Done()
	}
	redirects := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://gone:1"+transfer)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	onward := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://b:1"+transfer)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	for name, c := range map[string]struct {
		path  string
		first func(http.ResponseWriter, *http.Request) // what a:1 does at first
		then  func(http.ResponseWriter, *http.Request) // what b:1 does, nil: it does it
		err   string                                   // "" where it is done in the end
		asked int64
	}{
		"the connection breaks":           {transfer, breaks, nil, "the master at a:1 was asked and gave no answer", 1},
		"no answer comes":                 {transfer, silent, nil, "the master at a:1 was asked and gave no answer", 1},
		"the leader's connection breaks":  {transfer, onward, breaks, "the master at b:1 was asked and gave no answer", 2},
		"the leader does not know":        {transfer, answers(503, offers.Undecided), nil, "so not", 1},
		"the way to who does it breaks":   {"/v1/jobs/web/rollback", answers(502, offers.Undecided), nil, "so not", 1},
		"a file is run":                   {"/v1/jobs/web", breaks, nil, "gave no answer", 1},
		"nobody leads":                    {transfer, answers(503, offers.Unavailable), nil, "", 2},
		"the leader is gone":              {transfer, redirects, nil, "", 2},
		"one repeats, the connection":     {kill, breaks, nil, "", 2},
		"one repeats, the answer":         {kill, answers(503, offers.Undecided), nil, "", 2},
		"one repeats, who does it breaks": {kill, answers(502, offers.Undecided), nil, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				does := func(what func(http.ResponseWriter, *http.Request)) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/healthz" {
							return
						}
						if asked.Add(1); what != nil {
							do := what
							what = nil
							do(w, r)
						}
					})
				}
				cl := hosts{"a:1": does(c.first), "b:1": does(c.then)}.client(t, "a:1", "b:1")
				defer cl.Close()
				method := http.MethodPost
				if c.path == "/v1/jobs/web" {
					method = http.MethodPut
				}
				_, err := cl.Send(t.Context(), method, c.path, []byte("{}"))
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !errors.Is(err, errUndecided)) {
					t.Errorf("%v, want %q", err, c.err)
				}
				if asked.Load() != c.asked {
					t.Errorf("it was asked %d times, want %d", asked.Load(), c.asked)
				}
			})
		})
	}
}
