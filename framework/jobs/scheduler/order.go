package scheduler

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Write is one change of the store; without a value the key is deleted.
type Write struct {
	Key   string
	Value json.RawMessage
}

// InOrder returns writes in the order in which they have to be made, so that
// any beginning of them is a state to go on from:
//
//	floor, jobs    a version is there before a run of it is
//	instances      they have ended before their run has
//	runs
//	then what is deleted: runs, their instances, jobs
//
// What a beginning leaves behind (a job without a run, instances without one)
// is of a wish that nobody was told is done, and [New] clears it away.
func InOrder(writes map[string]json.RawMessage) []Write {
	out := make([]Write, 0, len(writes))
	for key, value := range writes {
		out = append(out, Write{key, value})
	}
	slices.SortFunc(out, func(a, b Write) int {
		return cmp.Or(cmp.Compare(turn(a), turn(b)), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func turn(w Write) int {
	kind, _, _ := strings.Cut(w.Key, "/")
	if w.Value == nil {
		return 10 + slices.Index([]string{"run", "instances", "job"}, kind)
	}
	return slices.Index([]string{floorKey, "job", "instances", "run"}, kind)
}
