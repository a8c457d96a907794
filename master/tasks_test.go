package master

import (
	"encoding/json"
	"net/url"
	"testing"
)

// TestPagesOfTasksAddUp: page by page, of all frameworks or of one by its id or
// name, it is the same as at once.
func TestPagesOfTasksAddUp(t *testing.T) {
	s := newScene(t, "")
	read := func(query string) (refs []string, next string) {
		status, _, text := s.ask("GET", "/v1/tasks?"+query, "")
		var list struct {
			Tasks []struct {
				ID        string
				Framework string `json:"framework_id"`
			}
			Next string
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", query, status, text)
		}
		for _, one := range list.Tasks {
			refs = append(refs, one.Framework+":"+one.ID)
		}
		return refs, list.Next
	}
	all, _ := read("")
	f, _ := read("framework=batch")
	if len(all) != 3 || len(f) != 2 {
		t.Fatalf("all are %v, those of batch %v", all, f)
	}
	batch := all[0][:len(all[0])-len(":t1")]
	for query, want := range map[string][]string{"": all, "framework=batch&": f, "framework=" + batch + "&": f, "framework=nosuch&": nil} {
		var got []string
		for next, more := "", true; more; more = next != "" {
			var page []string
			page, next = read(query + "limit=1&next=" + url.QueryEscape(next))
			got = append(got, page...)
		}
		if len(got) != len(want) {
			t.Errorf("%q: page by page %v, want %v", query, got, want)
		}
	}
	if got, _ := read("framework=" + batch + "&next=tasks.zzz"); len(got) != 0 {
		t.Errorf("after the last of a framework come %v", got)
	}
}
