package offers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestDemandJSON(t *testing.T) {
	for _, row := range []struct{ in, out string }{
		{`{"id":"d","resources":{}}`, ``},
		{`{"id":"d"}`, `{"id":"d","resources":{}}`},
		{`{"id":"d","count":0}`, `{"id":"d","resources":{},"count":0}`},
		{`{"id":"d","resources":{"cpus":"1"},"count":3}`, `{"id":"d","resources":{"cpus":1},"count":3}`},
		{`{"count":1,"resources":{"mem":"1MiB"},"id":"d","constraints":["rack==r1"],"placement":"rings","device_policy":"spread","deadline":"1m","runtime":5,"price":2.5,"gang":30}`,
			`{"id":"d","resources":{"mem":1048576},"count":1,"constraints":["rack==r1"],"placement":"rings","device_policy":"spread","deadline":"1m0s","runtime":"5s","price":2.5,"gang":"30s"}`},
		{`{"id":"d","later":{"x":1}}`, `{"id":"d","resources":{}}`}, // unknown fields are ignored
	} {
		var d offers.Demand
		if err := json.Unmarshal([]byte(row.in), &d); err != nil {
			t.Errorf("%s: %v", row.in, err)
			continue
		}
		if row.out == `` {
			row.out = row.in
		}
		if out, err := json.Marshal(d); err != nil || string(out) != row.out {
			t.Errorf("%s: written as %s, %v; want %s", row.in, out, err, row.out)
		}
	}
}

func TestDemandRefused(t *testing.T) {
	with := func(fields string) string { return `{` + fields + `,"id":"d7"}` } // the id last: it is named all the same
	for _, row := range []struct {
		in    string
		names []string
	}{
		{`{}`, []string{"id"}}, {`null`, []string{"id"}}, {`{"id":""}`, []string{"id"}}, {`{"id":7}`, []string{"id"}}, {`{"id":"a\nb"}`, []string{"id"}},
		{`{"id":"` + strings.Repeat("x", 257) + `"}`, []string{"id"}},
		{with(`"resources":{"cpus":-1}`), []string{"d7", "resources", "cpus"}},
		{with(`"resources":{"tapes":1}`), []string{"d7", "tapes"}},
		{with(`"resources":null`), []string{"d7", "resources"}},
		{with(`"resources":7`), []string{"d7", "resources"}},
		{with(`"resources":{"devices":{"gpu":{"memory":true}}}`), []string{"d7", "devices.gpu", "memory"}},
		{with(`"count":1`), []string{"d7", "resources"}},
		{with(`"count":-1,"resources":{"cpus":1}`), []string{"d7", "count"}},
		{with(`"count":1000001,"resources":{"cpus":1}`), []string{"d7", "count"}},
		{with(`"count":1.5,"resources":{"cpus":1}`), []string{"d7", "count"}},
		{with(`"count":"2","resources":{"cpus":1}`), []string{"d7", "count"}},
		{with(`"count":1e30,"resources":{"cpus":1}`), []string{"d7", "count"}},
		{with(`"constraints":"rack==r1"`), []string{"d7", "constraints"}},
		{with(`"constraints":["rack"]`), []string{"d7", "constraint", "rack"}},
		{with(`"constraints":[` + strings.TrimSuffix(strings.Repeat(`"a==b",`, 65), ",") + `]`), []string{"d7", "constraints"}},
		{with(`"placement":"best"`), []string{"d7", "placement"}},
		{with(`"device_policy":"any"`), []string{"d7", "device_policy"}},
		{with(`"deadline":"soon"`), []string{"d7", "deadline"}},
		{with(`"deadline":-1`), []string{"d7", "deadline"}},
		{with(`"runtime":true`), []string{"d7", "runtime"}},
		{with(`"runtime":null`), []string{"d7", "runtime"}},
		{with(`"price":1e400`), []string{"d7", "price"}},
		{with(`"resources":{"cpus":1},"gang":"30s"`), []string{"d7", "gang", "without a count"}},
		{with(`"count":1001,"resources":{"cpus":1},"gang":"30s"`), []string{"d7", "gang", "1001", "at most 1000"}},
		{with(`"count":2,"resources":{"cpus":1},"gang":"10ms"`), []string{"d7", "gang", "10ms", "1s"}},
		{with(`"count":2,"resources":{"cpus":1},"gang":-5`), []string{"d7", "gang", "negative"}},
		{with(`"price":"much"`), []string{"d7", "price"}},
		{with(`"count":1,"resources":{"cpus":1},"price":-1`), []string{"d7", "price", "-1"}},
		{with(`"count":1,"resources":{"cpus":1},"price":1e13`), []string{"d7", "price", "1e+12"}},
	} {
		err := json.Unmarshal([]byte(row.in), new(offers.Demand))
		for _, name := range row.names {
			wantNamed(t, err, name, row.in)
		}
		if err != nil && strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: the message speaks of Go: %v", row.in, err)
		}
	}
}

func FuzzDemand(f *testing.F) {
	for _, seed := range []string{
		`{"id":"d","resources":{"cpus":1,"devices":{"gpu":{"share":0.5}}},"count":3,"constraints":["zone in a,b"],"deadline":"5s","price":1}`,
		`{"id":"d","count":0}`, `{"id":"d","count":-1}`, `{"resources":{"cpus":1e400}}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d offers.Demand
		if json.Unmarshal(data, &d) != nil {
			return
		}
		sameAgain(t, &d, new(offers.Demand), d.Validate)
	})
}

// sameAgain checks that what was accepted is valid, can be written, is read
// again and is written the same then.
func sameAgain(t testing.TB, v, fresh any, validate func() error) {
	t.Helper()
	if err := validate(); err != nil {
		t.Fatalf("accepted but not valid: %v", err)
	}
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("accepted but not written: %v", err)
	}
	if err := json.Unmarshal(first, fresh); err != nil {
		t.Fatalf("%s: written but not read: %v", first, err)
	}
	if second, err := json.Marshal(fresh); err != nil || string(first) != string(second) {
		t.Fatalf("%s is written again as %s (%v)", first, second, err)
	}
}

func TestDuration(t *testing.T) {
	for _, row := range []struct {
		in, out string // "" for refused
	}{
		{`"5s"`, "5s"}, {`"1h30m"`, "1h30m0s"}, {`"0s"`, "0s"}, {`0`, "0s"}, {`"0"`, "0s"}, {`90`, "1m30s"}, {`"90"`, "1m30s"}, {`0.5`, "500ms"}, {`1e3`, "16m40s"}, {`"100ms"`, "100ms"},
		{`-1`, ""}, {`"-1s"`, ""}, {`"-0.001"`, ""}, {`""`, ""}, {`"s"`, ""}, {`"5"`, "5s"}, {`"5 s"`, ""}, {`"5parsecs"`, ""}, {`null`, ""}, {`true`, ""}, {`{}`, ""}, {`[1]`, ""},
		{`"NaN"`, ""}, {`"Inf"`, ""}, {`1e400`, ""}, {`1e18`, ""}, {`"876000h"`, "876000h0m0s"}, {`"876001h"`, ""}, {`"2562047h"`, ""}, {`"99999999h"`, ""}, {`3153600001`, ""},
	} {
		var d offers.Duration
		err := json.Unmarshal([]byte(row.in), &d)
		if (err == nil) != (row.out != "") {
			t.Errorf("%s: read as %v, %v; want %q", row.in, d, err, row.out)
			continue
		}
		if err == nil && d.String() != row.out {
			t.Errorf("%s: read as %s, want %s", row.in, d, row.out)
		}
		if out, merr := json.Marshal(d); err == nil && (merr != nil || string(out) != fmt.Sprintf("%q", row.out)) {
			t.Errorf("%s: written as %s, %v", row.in, out, merr)
		}
	}
	var d offers.Duration
	if err := d.UnmarshalText([]byte("2m")); err != nil || d.Std().Minutes() != 2 {
		t.Errorf("text 2m: %v, %v", d, err)
	}
	if err := d.UnmarshalText([]byte("x")); err == nil || d.Std().Minutes() != 2 {
		t.Errorf("text x: %v, %v", d, err)
	}
}

func TestPolicyAndPlacement(t *testing.T) {
	for _, p := range []offers.Policy{"", offers.Spread, offers.Pack} {
		wantNamed(t, p.Validate(), "", p)
	}
	wantNamed(t, offers.Policy("Spread").Validate(), "device_policy", "Spread")
	for _, p := range []offers.Placement{"", offers.Rings} {
		wantNamed(t, p.Validate(), "", p)
	}
	wantNamed(t, offers.Placement("Rings").Validate(), "placement", "Rings")
}
