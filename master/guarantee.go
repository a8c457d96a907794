package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// overGuaranteed says that what is held back for roles leaves nobody else any,
// with the guarantee that one is to have now; "" where it does. It is no error: agents
// may yet come. It costs O(agents + roles).
func overGuaranteed(s *state.State, name offers.Role, to offers.QuotaAmounts) string {
	var have sum
	for a := range s.Agents() {
		if a.State != offers.AgentUnreachable && a.State != offers.AgentGone {
			have.add(showTotal(a.Total), a.Total.Amounts)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(to)) {
		own, total := to[kind], have.of(kind)
		all := heldBack(s, kind, name, own)
		switch {
		case own > 0 && total == 0:
			return fmt.Sprintf("no agent that is there has %s: none of it is held back until one comes", kind)
		case own > 0 && own >= total:
			return fmt.Sprintf("the guarantee is %s, and all agents together have %s: all of it is held back for %s until more comes",
				amountOf(kind, own), amountOf(kind, total), name)
		case own > 0 && all >= total:
			return fmt.Sprintf("with those of other roles the guarantees are %s, and all agents together have %s: nobody else is offered any until more comes",
				amountOf(kind, all), amountOf(kind, total))
		}
	}
	return ""
}

// of returns what there is of a fair-share kind.
func (s *sum) of(kind string) int64 {
	for k, n := range s.amounts {
		if offers.Scalar(k).String() == kind {
			return n
		}
	}
	return s.devices[kind].Memory
}

// heldBack returns what is held back of a kind for all roles while they use
// nothing: a role's own guarantee, or those below it together where that is more.
func heldBack(s *state.State, kind string, name offers.Role, own int64) int64 {
	guaranteed := map[string]int64{}
	for role, settings := range s.Roles() {
		guaranteed[string(role)] = settings.Quota.Guarantee[kind]
	}
	guaranteed[string(name)] = own
	for role := range maps.Clone(guaranteed) {
		for up := parent(role); up != ""; up = parent(up) {
			if _, known := guaranteed[up]; !known {
				guaranteed[up] = 0
			}
		}
	}
	below := map[string]int64{}
	deepest := func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }
	for _, role := range slices.SortedFunc(maps.Keys(guaranteed), deepest) {
		below[parent(role)] += max(guaranteed[role], below[role])
	}
	return below[""]
}

// parent returns the role above one, "" for none.
func parent(role string) string {
	return role[:max(strings.LastIndexByte(role, '/'), 0)]
}

// amountOf writes an amount of a fair-share kind for people.
func amountOf(kind string, n int64) string {
	switch kind {
	case offers.CPUs.String():
		return offers.FormatCPUs(n) + " cpus"
	case offers.Bandwidth.String():
		return fmt.Sprintf("%d bits a second", n)
	}
	return offers.FormatSize(n) + " of " + kind
}
