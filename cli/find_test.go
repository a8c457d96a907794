package cli

import (
	"reflect"
	"testing"
)

// TestGoneAgentsStepBack: the name of an agent that came back as a new one is
// that of the new one, as long as the old one is not named by its id. A name
// wins over beginnings of ids.
func TestGoneAgentsStepBack(t *testing.T) {
	old, now, other := thing{ID: "a00001-1", Name: "a1", State: "gone"}, thing{ID: "a00002-1", Name: "a1", State: "active"}, thing{ID: "a00003-1", Name: "a3", State: "gone"}
	all := []thing{old, now, other}
	for text, want := range map[string][]thing{"a1": {now}, "a00001-1": {old}, "a0000": {now}, "a00003": {other}, "a3": {other}, "a4": nil} {
		if found := matching(all, "agents", text); !reflect.DeepEqual(found, want) {
			t.Errorf("%s is %v; want %v", text, found, want)
		}
	}
	short := thing{ID: "a00004-1", Name: "a0", State: "active"}
	if found := matching(append(all, short), "agents", "a0"); !reflect.DeepEqual(found, []thing{short}) {
		t.Errorf("a name that is the beginning of ids is %v", found)
	}
	gone := thing{ID: "t1", Framework: "f1", State: "gone"}
	if found := matching([]thing{gone, {ID: "t2", Framework: "f1", State: "running"}}, "tasks", "t"); len(found) != 2 {
		t.Errorf("of tasks %v are found", found)
	}
}
