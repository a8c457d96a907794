package offers

import "testing"

func TestNoKeyTwice(t *testing.T) {
	for text, key := range map[string]string{
		`{"a":1,"b":2}`:                        "",
		`{"a":1,"b":2,"a":3}`:                  "a",
		`{"a":1,"\u0061":1}`:                   "a",
		`{"b":1e999,"a":1,"a":1}`:              "a",
		`{"a":1,"A":1}`:                        "",
		`{"a":"a","b":"a"}`:                    "",
		`{"a":{"a":["a","a"]},"b":"b"}`:        "",
		`[{"a":1},{"a":1}]`:                    "",
		`{"x":{"a":1},"y":{"a":1}}`:            "",
		`{"x":[{"y":{}},{"a":[],"a":{}}]}`:     "a",
		`{"a":{"b":{"c":1}},"d":[1],"a":null}`: "a",
		``:                                     "", `"a"`: "", `{"a":1`: "", `}`: "",
	} {
		want := ""
		if key != "" {
			want = `the key "` + key + `" is there twice`
		}
		got := ""
		if err := NoKeyTwice([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
