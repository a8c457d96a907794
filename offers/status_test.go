package offers_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Rows are the present state, columns what is reported: x where it may follow.
func TestMayFollow(t *testing.T) {
	states := []offers.State{
		"", "bogus", offers.Staging, offers.Starting, offers.Running, offers.Killing, offers.Unreachable,
		offers.Finished, offers.Failed, offers.Killed, offers.Rejected, offers.Dropped, offers.Gone,
	}
	matrix := []string{ // "" bogus staging starting running killing unreachable | six ends
		"..xxxxxxxxxxx", // nothing known yet
		"..xxxxxxxxxxx", // bogus
		"...xxxxxxxxxx", // staging
		"....xxxxxxxxx", // starting
		".....xxxxxxxx", // running
		"......xxxxxxx", // killing
		"..xxxx.xxxxxx", // unreachable
		".............", ".............", ".............", ".............", ".............", ".............",
	}
	for i, from := range states {
		for j, to := range states {
			if got, want := to.MayFollow(from), matrix[i][j] == 'x'; got != want {
				t.Errorf("%q after %q: %v, want %v", to, from, got, want)
			}
		}
		if from.Known() != (i > 1) || from.Terminal() != (i > 6) {
			t.Errorf("%q: known %v, terminal %v", from, from.Known(), from.Terminal())
		}
	}
}

func TestStatusValidate(t *testing.T) {
	for _, row := range []struct {
		s     offers.Status
		names string
	}{
		{offers.Status{Task: "t", State: offers.Running}, ""},
		{offers.Status{State: offers.Running}, "task id"},
		{offers.Status{Task: "t"}, "state"},
		{offers.Status{Task: "t", State: "lost"}, "lost"},
	} {
		wantNamed(t, row.s.Validate(), row.names, row.s)
	}
}

func TestError(t *testing.T) {
	err := fmt.Errorf("accept: %w", offers.Errorf(offers.OfferGone, "offer %s is gone", "o1"))
	if err.Error() != "accept: offer o1 is gone" {
		t.Errorf("the sentence is %q", err)
	}
	if !errors.Is(err, &offers.Error{Code: offers.OfferGone}) || errors.Is(err, &offers.Error{Code: offers.BadTask}) ||
		errors.Is(err, &offers.Error{Code: offers.OfferGone, Message: "another"}) || errors.Is(err, errors.New("x")) {
		t.Error("errors.Is does not ask for the code")
	}
	var e *offers.Error
	if !errors.As(err, &e) || e.Code != offers.OfferGone {
		t.Error("the code is lost on the way")
	}
}

func TestStatusCut(t *testing.T) {
	exit := 1
	s := offers.Status{Task: "t", State: offers.Failed, UpdateID: "u", Reason: "image", Message: "no such image: é", ExitCode: &exit, Signal: "SIGKILL", Address: "h",
		Devices: map[string][]offers.Grant{"gpu": make([]offers.Grant, offers.MaxDevices)}}
	kept := s
	if kept.Cut(); !reflect.DeepEqual(kept, s) {
		t.Errorf("%+v became %+v", s, kept)
	}
	long := strings.Repeat("é", 4<<20)
	s.Reason, s.Message, s.Signal, s.Address = long, long, long[1:], long
	s.Devices = map[string][]offers.Grant{"gpu": make([]offers.Grant, 1<<20)}
	s.Cut()
	for what, c := range map[string]struct {
		text string
		most int
	}{
		"message": {s.Message, offers.MaxStatusMessage}, "reason": {s.Reason, offers.MaxStatusWord},
		"signal": {s.Signal, offers.MaxStatusWord}, "address": {s.Address, offers.MaxStatusWord},
	} {
		if n := len(c.text); n > c.most || n < c.most-4 || !strings.HasSuffix(c.text, "é…") || !utf8.ValidString(c.text) {
			t.Errorf("the %s has %d bytes of at most %d and ends with %q", what, n, c.most, c.text[max(n-8, 0):])
		}
	}
	if s.Devices != nil || s.Task != "t" || s.State != offers.Failed || s.UpdateID != "u" || s.ExitCode != &exit {
		t.Errorf("what is not too long: %+v", s)
	}
	s.Devices = map[string][]offers.Grant{"gpu": {{ID: long}}}
	if s.Cut(); s.Devices != nil {
		t.Error("a device whose id is 8 MiB long is kept")
	}
}
