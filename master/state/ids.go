package state

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Ids are a letter, a number from a replicated counter and the beginning of
// the cluster's id: f00042-c0de. So they sort by age, and the id of another
// cluster is known as foreign. Numbers that pass five digits are written
// longer behind an x, which sorts after every digit.
const (
	agentLetter     = "a"
	frameworkLetter = "f"
	suffixLength    = 4
)

// mint writes the id of the n-th of its kind.
func mint(letter string, n uint64, cluster string) string {
	if n > 99_999 {
		return fmt.Sprintf("%sx%020d-%s", letter, n, cluster[:suffixLength])
	}
	return fmt.Sprintf("%s%05d-%s", letter, n, cluster[:suffixLength])
}

// number returns the number of an id that this cluster could have given out,
// and 0 for every other text.
func number(letter, id, cluster string) uint64 {
	head, _, found := strings.Cut(id, "-")
	if !found || cluster == "" || len(head) < 2 {
		return 0
	}
	digits := strings.TrimPrefix(head[1:], "x")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n == 0 || mint(letter, n, cluster) != id {
		return 0
	}
	return n
}

// validCluster reports whether id can name a cluster: 4 to 64 characters, the
// first four of them lower-case hexadecimal.
func validCluster(id string) bool {
	if len(id) < suffixLength || len(id) > 64 || !offers.Printable(id) {
		return false
	}
	return strings.Trim(id[:suffixLength], "0123456789abcdef") == ""
}

// Forgotten reports whether id was given to a framework of this cluster that
// has since been removed and fallen out of the history.
func (s *State) Forgotten(id offers.FrameworkID) bool {
	n := number(frameworkLetter, string(id), s.cluster)
	return n > 0 && n <= s.counters.Frameworks && s.Framework(id) == nil
}

// ForgottenAgent is [State.Forgotten] for an agent that is gone.
func (s *State) ForgottenAgent(id offers.AgentID) bool {
	n := number(agentLetter, string(id), s.cluster)
	return n > 0 && n <= s.counters.Agents && s.Agent(id) == nil
}
