package discovery_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/offers"
)

func seen(class string, ids ...string) (r discovery.Report) {
	for _, id := range ids {
		r.Devices = append(r.Devices, discovery.Found{Class: class, Device: offers.Device{ID: id, Capacity: 1}})
	}
	return r
}

func names(c *discovery.Census) string {
	out := ""
	for _, class := range c.Classes() {
		out += class.Name + ":"
		for _, d := range class.Devices {
			out += d.ID
		}
		out += " "
	}
	return out
}

// TestCensus: places in a class are kept while devices come and go, two sources
// stand side by side, and only what is new changes anything.
func TestCensus(t *testing.T) {
	var c discovery.Census
	gone := func(ids ...string) map[string]map[string]string {
		out := map[string]map[string]string{}
		for _, id := range ids {
			if out["gpu"] == nil {
				out["gpu"] = map[string]string{}
			}
			out["gpu"][id] = "it is not there any more"
		}
		return out
	}
	for i, row := range []struct {
		source  int
		report  discovery.Report
		changed bool
		want    string
		unwell  map[string]map[string]string
	}{
		{0, seen("gpu", "a", "b"), true, "gpu:ab ", gone()},
		{0, seen("gpu", "b", "a"), false, "gpu:ab ", gone()},
		{0, seen("gpu", "b"), false, "gpu:ab ", gone("a")},
		{1, seen("gpu", "b", "x"), true, "gpu:bx ", gone()}, // b is the other's; a, which is gone, is forgotten
		{0, seen("gpu", "b", "a"), true, "gpu:bxa ", gone()},
		{1, seen("npu", "n"), true, "gpu:ba npu:n ", gone()},
		{0, seen("gpu"), false, "gpu:ba npu:n ", gone("a", "b")},
		{1, seen("gpu", "b"), false, "gpu:ba npu:n ", map[string]map[string]string{"gpu": {"a": "it is not there any more"}, "npu": {"n": "it is not there any more"}}},
	} {
		if changed := c.Take(row.source, row.report); changed != row.changed || names(&c) != row.want || !reflect.DeepEqual(c.Unwell(), row.unwell) {
			t.Fatalf("step %d: changed %v, there are %s, unwell %v", i, changed, names(&c), c.Unwell())
		}
	}
}

// TestCensusIsBounded: a source that invents new names all the time fills no
// memory.
func TestCensusIsBounded(t *testing.T) {
	var c discovery.Census
	for n := range 100 {
		c.Take(0, seen("gpu", fmt.Sprint(n)))
	}
	if got := names(&c); got != "gpu:99 " {
		t.Errorf("there are %s", got)
	}
}
