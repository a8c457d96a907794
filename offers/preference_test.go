package offers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestPreferencesSum(t *testing.T) {
	var d offers.Demand
	text := `{"id":"d","count":1,"resources":{"cpus":1},"preferences":[{"condition":"rack==r1","weight":10},{"condition":"zone in a,b","weight":3},{"condition":"old==true","weight":-7}]}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.MostPreferred() != 13 {
		t.Errorf("the most is %d, want 13", d.MostPreferred())
	}
	for want, attributes := range map[int]map[string]string{
		0: nil, 13: {"rack": "r1", "zone": "a"}, 10: {"rack": "r1"}, 3: {"rack": "r1", "old": "true"}, -7: {"old": "true", "zone": "c"},
	} {
		if got := d.Preferred(&offers.Agent{Attributes: attributes}); got != want {
			t.Errorf("%v comes to %d, want %d", attributes, got, want)
		}
	}
}

func TestBadPreferences(t *testing.T) {
	for preferences, says := range map[string]string{
		`[{"weight":1}]`:                              "condition is missing",
		`[{"condition":"rack==r1"}]`:                  "weight is 0",
		`[{"condition":"rack==r1","weight":1001}]`:    "weight is 1001; 1 to 1000",
		`[{"condition":"rack==r1","weight":-1001}]`:   "weight is -1001",
		`[{"condition":"rack==r1","weight":"much"}]`:  "weight: ",
		`[{"condition":"distinct agent","weight":1}]`: "is a limit",
		`[{"condition":"host~(","weight":1}]`:         "not a regular expression",
		`["rack==r1"]`:                                "preferences",
		`[` + strings.Repeat(`{"condition":"a==b","weight":1},`, 16) + `{"condition":"a==b","weight":1}]`: "17 of them; at most 16",
	} {
		var d offers.Demand
		err := json.Unmarshal([]byte(`{"id":"d","count":1,"resources":{"cpus":1},"preferences":`+preferences+`}`), &d)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "preferences") {
			t.Errorf("%.80s: %v, want %q", preferences, err, says)
		}
	}
}
