package linear_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// script plays frames over one connection, a second apart.
type script struct {
	*testing.T
	now  time.Time
	conn *linear.Conn
}

func (s *script) frame(m wire.Message, request string) []byte {
	s.Helper()
	s.now = s.now.Add(time.Second)
	frame, err := wire.Encode(m, request)
	if err != nil {
		s.Fatal(err)
	}
	return frame
}

func (s *script) sends(m wire.Message, request string) {
	frame := s.frame(m, request)
	s.conn.Sent(s.now, frame)
}

func (s *script) hears(m wire.Message, request string) {
	frame := s.frame(m, request)
	s.conn.Received(s.now, frame)
}

func TestRecorder(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := linear.NewRecorder(begin)
	s := &script{t, begin, r.Open("me")}
	five := offers.Duration(5 * time.Second)
	one := uint64(1)
	s.sends(&wire.Register{Framework: wire.FrameworkInfo{Name: "n", FailoverTimeout: &five}}, "register")
	s.hears(&wire.Registered{FrameworkID: "f", Master: wire.MasterInfo{Term: 7}}, "register")
	s.sends(&wire.StateRequest{Op: "put", Key: "k", Value: json.RawMessage(`"v"`), Version: &one}, "a")
	s.sends(&wire.StateRequest{Op: "get", Key: "k"}, "b")
	s.sends(&wire.StateRequest{Op: "delete", Key: "k"}, "c")
	s.sends(&wire.StateRequest{Op: "list"}, "d")
	s.hears(&wire.StateAnswer{Op: "get", Key: "k", Value: json.RawMessage(`"w"`), Version: 3}, "b")
	s.hears(&wire.ErrorMessage{Code: offers.VersionConflict}, "a")
	s.hears(&wire.ErrorMessage{Code: offers.Unavailable}, "c")
	s.hears(&wire.StateAnswer{Op: "list", Keys: []string{"k"}}, "d")
	s.hears(&wire.OffersMessage{Offers: []wire.Offer{{ID: "o", Expires: begin.Add(time.Minute)}}}, "")
	s.sends(&wire.Accept{OfferIDs: []offers.OfferID{"o"}, Tasks: []json.RawMessage{json.RawMessage(`{"id": "t", "name": "x"}`)}}, "e")
	s.hears(&wire.Rescind{OfferIDs: []offers.OfferID{"o"}}, "")
	s.hears(&wire.Accepted{OfferIDs: []offers.OfferID{"o"}, TaskIDs: []offers.TaskID{"t"}}, "e")
	s.sends(&wire.Decline{OfferIDs: []offers.OfferID{"p"}}, "g")
	s.hears(&wire.Heartbeat{}, "")
	s.hears(&wire.StateAnswer{Op: "get"}, "nobody asked")
	s.sends(&wire.Teardown{}, "teardown")
	s.hears(&wire.ErrorMessage{Code: offers.FrameworkRemoved}, "")
	s.conn.Closed(s.now)

	at := func(n int64) int64 { return n * second }
	done := linear.Done
	want := []*linear.Op{
		{Kind: linear.Register, Call: at(1), Return: at(2), Outcome: done, Term: 7, Timeout: 5 * second},
		{Kind: linear.Put, Call: at(3), Return: at(8), Outcome: linear.Refused, Code: offers.VersionConflict, Key: "k", Value: `"v"`, If: &one},
		{Kind: linear.Get, Call: at(4), Return: at(7), Outcome: done, Key: "k", Value: `"w"`, Version: 3},
		{Kind: linear.Delete, Call: at(5), Key: "k"},
		{Kind: linear.List, Call: at(6), Return: at(10), Outcome: done, Keys: []string{"k"}},
		{Kind: linear.Offered, Call: at(11), Return: at(11), Outcome: done, Offers: []offers.OfferID{"o"}, Expires: at(60)},
		{Kind: linear.Accept, Call: at(12), Return: at(14), Outcome: done, Offers: []offers.OfferID{"o"}, Tasks: []offers.TaskID{"t"}},
		{Kind: linear.Rescinded, Call: at(13), Return: at(13), Outcome: done, Offers: []offers.OfferID{"o"}},
		{Kind: linear.Teardown, Call: at(18), Return: at(19), Outcome: done},
		{Kind: linear.Closed, Call: at(19), Return: at(19), Outcome: done},
	}
	got := r.Ops()
	for i, o := range want {
		o.Conn, o.Who, o.Framework, o.Term = 1, "me", "f", 7
		if i < len(got) && !reflect.DeepEqual(got[i], o) {
			t.Errorf("operation %d:\n got %+v\nwant %+v", i, *got[i], *o)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d operations, want %d", len(got), len(want))
	}
}

// TestRecorderOfUnanswered: what a register asked for is known without answer.
func TestRecorderOfUnanswered(t *testing.T) {
	begin := time.Now()
	r := linear.NewRecorder(begin)
	s := &script{t, begin, r.Open("me")}
	s.sends(&wire.Register{Framework: wire.FrameworkInfo{ID: "f", Name: "n"}}, "register")
	s.conn.Closed(s.now)
	s.conn = r.Open("me")
	s.sends(&wire.Register{Framework: wire.FrameworkInfo{ID: "f", Name: "n"}}, "register")
	s.hears(&wire.ErrorMessage{Code: offers.FrameworkRemoved}, "register")
	got := r.Ops()
	if len(got) != 3 || got[0].Outcome != linear.Unknown || got[0].Timeout != int64(wire.DefaultFailoverTimeout) ||
		got[1].Kind != linear.Closed || got[1].Framework != "f" ||
		got[2].Outcome != linear.Refused || got[2].Framework != "f" || got[2].Conn != 2 {
		t.Errorf("%v", got)
	}
}
