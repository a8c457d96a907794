package master

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// FuzzList follows a list from page to page, whatever cursor it begins with:
// each page is within its limit, and nothing behind the cursor is missed or
// comes twice.
func FuzzList(f *testing.F) {
	f.Add("limit=3")
	f.Add("limit=1&next=tasks.k05")
	f.Add("next=%zz&limit=0")
	f.Add("limit=2&next=tasks.\xff")
	const items = 12
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/v1/tasks", nil)
		r.URL.RawQuery = query
		start := strings.TrimPrefix(r.URL.Query().Get("next"), "tasks.")
		var got []string
		for pages := 0; ; pages++ {
			l, err := newLister(r, "tasks")
			if err != nil {
				return
			}
			if pages > items+1 {
				t.Fatalf("%q has no end", query)
			}
			for n := range items {
				key := fmt.Sprintf("k%02d", n)
				if !l.add(key, func() any { return key }) {
					break
				}
			}
			if len(l.items) > l.limit {
				t.Fatalf("%q: a page of %d", query, len(l.items))
			}
			for _, item := range l.items {
				got = append(got, item.(string))
			}
			page := l.page().(map[string]any)
			next, more := page["next"].(string)
			if !more {
				break
			}
			values := r.URL.Query()
			values.Set("next", next)
			r.URL.RawQuery = values.Encode()
		}
		var want []string
		for n := range items {
			if key := fmt.Sprintf("k%02d", n); start == "" || key > start {
				want = append(want, key)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%q yields %v, want %v", query, got, want)
		}
	})
}

// FuzzDrainOrder: a body is refused with a reason, or its deadline is one.
func FuzzDrainOrder(f *testing.F) {
	f.Add(`{"deadline": "10m"}`)
	f.Add(`{"deadline": 1e300}`)
	f.Add(`{"deadline": null} {}`)
	f.Add(` `)
	f.Fuzz(func(t *testing.T, body string) {
		var order struct {
			Deadline *offers.Duration `json:"deadline"`
		}
		err := readBody(httptest.NewRequest("POST", "/v1/agents/a/drain", strings.NewReader(body)), &order)
		if err != nil {
			w := httptest.NewRecorder()
			if fail(w, err); w.Code != 400 || err.Error() == "" {
				t.Fatalf("%q is answered with %d: %v", body, w.Code, err)
			}
			return
		}
		if d := order.Deadline; d != nil && *d < 0 {
			t.Fatalf("%q is a deadline of %s", body, d)
		}
	})
}
