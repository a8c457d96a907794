package offers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestConstraint(t *testing.T) {
	agent := &offers.Agent{ID: "a1", Name: "one", Host: "web7", Attributes: map[string]string{
		"rack": "r1", "zone": "a", "cores": "16", "empty": "", "odd": "a==b", "list": "x,y", "name": "other", "free text": "7",
	}}
	for text, want := range map[string]bool{
		"rack==r1": true, "rack == r1": true, "rack==r2": false, "rack==": false, "empty==": true, "gone==r1": false, "gone==": false,
		"rack!=r1": false, "rack!=r2": true, "gone!=r1": true, "gone!=": true,
		"zone in a,b": true, "zone in b, a": true, "zone in b,c": false, "zone in a": true, "gone in a": false, "zone in ": false, "empty in ,x": true,
		"host~web.*": true, "host~web": false, "host~eb7": false, "host~web7|x": true, "rack~(?i)R1": true, "gone~.*": false, "rack~^r1$": true, "host~x|web": false,
		"cores>=16": true, "cores>16": false, "cores<=16": true, "cores<16": false, "cores>15.5": true, "cores<1e9": true, "rack>1": false, "gone<1": false,
		"cores==16": true, "cores==16.0": false,
		"odd==a==b": true, "id==a1": true, "name==other": true, "host==web7": true,
		"free text==7": true,
	} {
		c, err := offers.ParseConstraint(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Met(agent); got != want {
			t.Errorf("%s: met is %v, want %v", text, got, want)
		}
		if c.String() != text {
			t.Errorf("%s is written as %s", text, c)
		}
	}
}

func TestLimit(t *testing.T) {
	agent := &offers.Agent{ID: "a1", Host: "h", Attributes: map[string]string{"rack": "r1", "agent": "own"}}
	for text, want := range map[string]struct {
		most  int
		value string
		met   bool
	}{
		"distinct agent":       {1, "a1", true},
		"distinct rack":        {1, "r1", true},
		"at most 3 per rack":   {3, "r1", true},
		"at most 3  per  host": {3, "h", true},
		"at most 1 per zone":   {1, "", false},
		"rack==r1":             {0, "", true},
	} {
		c, err := offers.ParseConstraint(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		value, has := c.Together(agent)
		if c.Limit() != want.most || c.Met(agent) != want.met || want.most > 0 && (value != want.value || has != want.met) {
			t.Errorf("%s: at most %d, counted under %q %v, met %v; want %+v", text, c.Limit(), value, has, c.Met(agent), want)
		}
	}
}

func TestConstraintRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "rack", "rack=r1", "==r1", " ==r1", " in a", "!r1", "rack!r1", "cores>many", "cores>=", "cores<nan", "distinct", "distinct ", "distinct rack zone", "at most 0 per rack", "at most -1 per rack", "at most 1000001 per rack",
		"at most two per rack", "at most 2 per", "at most 2 of rack", "host~(", "host~[", "~x",
		"rack==a\nb", "rack==\x00", "rack==\xff", strings.Repeat("x", 1025) + "==1",
	} {
		if c, err := offers.ParseConstraint(text); err == nil {
			t.Errorf("%q is read as %+v", text, c)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.40q: the message is %d bytes long", text, len(err.Error()))
		}
	}
	for _, in := range []string{`7`, `null`, `{}`, `["rack==r1"]`, `""`} {
		if err := json.Unmarshal([]byte(`[`+in+`]`), new([]offers.Constraint)); err == nil {
			t.Errorf("%s is read as a constraint", in)
		}
	}
}

func FuzzConstraint(f *testing.F) {
	for _, seed := range []string{"rack==r1", "rack!=r1", "zone in a,b", "host~web.*", "cores>=16", "a in b==c", "in in in", "x<nan", "~", "a~(?:a+)+$"} {
		f.Add(seed, "r1")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := offers.ParseConstraint(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back offers.Constraint
		if err := json.Unmarshal(out, &back); err != nil || back.String() != c.String() {
			t.Fatalf("%q comes back as %q (%v)", c, back, err)
		}
		agent := &offers.Agent{Attributes: map[string]string{"rack": value, "host": value}}
		if c.Met(agent) != back.Met(agent) {
			t.Fatalf("%q is met before and not after the way through JSON, or the reverse", c)
		}
	})
}

// TestExpressionsAreBounded: what is no regular expression is refused with the
// reason, and so is one that repetitions make large, however short it is.
func TestExpressionsAreBounded(t *testing.T) {
	for value, want := range map[string]string{
		"[":                  "not a regular expression: missing closing ]",
		"a)|(b":              "not a regular expression: unexpected )",
		"a**":                "not a regular expression: invalid nested repetition operator",
		"a{1001}":            "not a regular expression: invalid repeat count",
		"(a{1000}){1000}":    "not a regular expression: invalid repeat count",
		"(?=a)":              "not a regular expression: invalid or unsupported Perl syntax",
		"a{500}b{500}":       "a regular expression of 1002 steps with its repetitions; at most 1000",
		"(web|db)[0-9]{1,3}": "",
		"\\p{L}{400}":        "",
	} {
		_, err := offers.ParseConstraint("host~" + value)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && (want == "" || !strings.HasSuffix(got, ": "+want)) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
