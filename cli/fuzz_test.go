package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// FuzzParseQuota: a quota is refused or every amount of it is one the masters
// take; written in its plain form it is the same.
func FuzzParseQuota(f *testing.F) {
	f.Add("cpus=100,mem=1TiB,gpu=96GiB")
	f.Add(" cpus = 1.5 ,, ")
	f.Add("cpus=1,cpus=2")
	f.Add("gpu=4")
	f.Fuzz(func(t *testing.T, text string) {
		amounts, err := parseQuota(text)
		if err != nil {
			return
		}
		var plain []string
		for _, kind := range slices.Sorted(maps.Keys(amounts)) {
			if n, err := offers.ParseQuota(kind, amounts[kind]); err != nil || n < 0 || n > offers.MaxAmount {
				t.Fatalf("%q: %s is %d, %v", text, kind, n, err)
			}
			plain = append(plain, kind+"="+amounts[kind])
		}
		if again, err := parseQuota(strings.Join(plain, ",")); err != nil || !maps.Equal(again, amounts) {
			t.Fatalf("%q is %v, then %v, %v", text, amounts, again, err)
		}
	})
}

// FuzzReadPage: what a master answers, or something else in its place, is one
// page of a list or an error.
func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`{"tasks":[{"id":"t"},null],"next":"t"}`))
	f.Add([]byte(`{"tasks":{}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole map[string]json.RawMessage
		next, items, err := readPage(text, "tasks", &whole)
		if err != nil {
			return
		}
		for _, item := range items {
			if !json.Valid(item) {
				t.Fatalf("%s holds %s", text, item)
			}
		}
		if _, more := whole["next"]; next != "" && !more {
			t.Fatalf("%s goes on at %q", text, next)
		}
	})
}
