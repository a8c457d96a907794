package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/master/api"
)

// lists are arrays of tasks as masters write them, and in other ways.
var lists = []string{
	`[]`, `[ ]`, ` [ ] `, `null`, `[`, `[]]`, `[{}]`, `[{]`, `[{},]`, `[{"id":"a"}{"id":"b"}]`, `{"id":"a"}`, `[null]`, `[{"id":"a","id":"b"}]`,
	`[{"id":"t1","name":"n","framework_id":"f","agent_id":"a","role":"r","state":"running","resources":{"cpus":0.5,"mem":1048576,"disk":0,"bandwidth":0},` +
		`"devices":{},"created":"2030-01-01T00:00:00.123456789Z","started":"2030-01-01T00:00:01Z"}]`,
	`[{"id":"t1","state":"failed","exit_code":3,"message":"it \"said\" \u003cno\u003e\n","created":null},{"id":"t2","state":"killed","signal":"SIGKILL","exit_code":137}]`,
	` [ { "id" : "t1" , "exit_code" : 3 , "created" : "2030-01-01T00:00:00+01:00" } ] `,
	`[{"id":"t","resources":{"cpus":2,"mem":0,"disk":0,"bandwidth":0,"ports":[31000],"devices":{"gpu":{"memory":1073741824}}},` +
		`"devices":{"gpu":[{"id":"g0","index":0,"memory":1073741824}]},"labels":{"a":"]"}}]`,
	`[{"id":7}]`, `[{"id":"t","exit_code":"x"}]`, `[{"id":"t","created":"yesterday"}]`, `[{"id":"t","resources":[]}]`, `[{"id":"t","name":null}]`, `[{"i\u0064":"t"}]`,
}

// TestRowsOfTasks: what is read without decoding it are the same rows.
func TestRowsOfTasks(t *testing.T) {
	for _, items := range lists {
		rowsAlike(t, []byte(items))
	}
	rows, plain := readTasks(time.Now()).plain([]byte(lists[13]))
	if !plain || len(rows) != 1 || rows[0][0] != "t1" || rows[0][6] != "0.5 cpus, 1MiB mem" {
		t.Errorf("of a list as masters write it %q is read (%v)", rows, plain)
	}
}

func FuzzRowsOfTasks(f *testing.F) {
	for _, items := range lists {
		f.Add([]byte(items))
	}
	f.Fuzz(func(t *testing.T, items []byte) { rowsAlike(t, items) })
}

func rowsAlike(t *testing.T, items []byte) {
	t.Helper()
	now := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	var tasks []api.Task
	if json.Unmarshal(items, &tasks) != nil || !utf8.Valid(items) || !exactKeys(items) {
		return // masters write no such thing
	}
	want := make([]row, len(tasks))
	for i := range tasks {
		want[i] = taskRow(&tasks[i], now, askedBy(&tasks[i].Resources), held(&tasks[i]))
	}
	r := readTasks(now)
	for range 2 { // the second time it remembers
		got, err := r.of(items)
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as %q (%v); want %q", items, got, err, want)
		}
	}
}

// exactKeys reports whether no key comes twice or with other letters, which
// encoding/json takes for the same.
func exactKeys(items []byte) bool {
	var all []map[string]json.RawMessage
	if json.Unmarshal(items, &all) != nil {
		return false
	}
	keys := 0
	for _, task := range all {
		for key := range task {
			if key != strings.ToLower(key) {
				return false
			}
			keys++
		}
	}
	dec, depth, found := json.NewDecoder(bytes.NewReader(items)), 0, 0
	for {
		token, err := dec.Token()
		if err != nil {
			return found == 2*keys
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth == 2 {
				found++
			}
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if depth == 2 {
				found++
			}
		}
	}
}

// TestPagesAreWrittenAsOne: a list in pages is the JSON of the whole.
func TestPagesAreWrittenAsOne(t *testing.T) {
	for _, pages := range [][]string{
		{`{"tasks":[]}`},
		{`{"tasks":[{"id":"a"}]}`},
		{`{"next":"f:b","tasks":[{"id":"a","labels":{}},{"id":"b","o":[1,[],{"x":"],["}]}]}`, `{"next":"f:c","tasks":[{"id":"c"}]}`, `{"tasks":[]}`},
		{"{ \"tasks\" : [ {\"id\":\"a\"} ] , \"next\" : \"f:\\u0061\" }\n", ` {"other":[],"tasks":[{"id":"b"}]} `},
	} {
		var items []json.RawMessage
		for _, text := range pages {
			var one struct{ Tasks []json.RawMessage }
			if err := json.Unmarshal([]byte(text), &one); err != nil {
				t.Fatal(err)
			}
			items = append(items, one.Tasks...)
		}
		if items == nil {
			items = []json.RawMessage{}
		}
		want, err := json.MarshalIndent(map[string]any{"tasks": items}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		p := &page{}
		list := jsonList{page: p, key: "tasks"}
		first, more := listOfPages(t, pages)
		if err := eachPage(t.Context(), first, more, func(items []byte) (bool, error) { return true, list.add(items) }); err != nil {
			t.Fatal(err)
		}
		if err := list.end(); err != nil || p.text.String() != string(want)+"\n" {
			t.Errorf("%q is written as\n%s(%v); want\n%s", pages, p.text.String(), err, want)
		}
	}
}

// listOfPages returns the first page, and what returns the others one by one.
func listOfPages(t *testing.T, pages []string) (listPage, nextPage) {
	at := 0
	page := func(context.Context, string) (listPage, error) {
		at++
		if at > len(pages) {
			return listPage{}, errors.New("there are no more pages")
		}
		return cutPage([]byte(pages[at-1]), "tasks")
	}
	first, err := page(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return first, page
}

func TestPagesThatAreNone(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `{}`, `{"tasks":{}}`, `{"next":7,"tasks":[]}`, `{"tasks":[]`, `{"tasks":[]}]`, `{"tasks":[`} {
		p, err := cutPage([]byte(text), "tasks")
		if err == nil {
			_, err = readTasks(time.Now()).of(p.items)
		}
		if err == nil && text != "null" && text != "{}" {
			t.Errorf("%s is taken for a page: %+v", text, p)
		}
	}
	for name, more := range map[string]nextPage{
		"an error":    func(context.Context, string) (listPage, error) { return listPage{}, errors.New("an error") },
		"not JSON":    func(context.Context, string) (listPage, error) { return listPage{items: []byte(`[{"id"]`)}, nil },
		"enough read": func(context.Context, string) (listPage, error) { return listPage{items: []byte(`[]`), next: "on"}, nil },
	} {
		list, seen := jsonList{page: &page{}, key: "tasks"}, 0
		err := eachPage(t.Context(), listPage{[]byte(`[]`), "on"}, more, func(items []byte) (bool, error) {
			seen++
			return seen < 3, list.add(items)
		})
		if ended := name == "enough read"; ended != (err == nil) || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s ends a list with %v", name, err)
		}
	}
}
