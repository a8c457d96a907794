package state

import (
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
	return string(appendID(nil, letter, n, cluster))
}

func appendID(out []byte, letter string, n uint64, cluster string) []byte {
	out = append(out, letter...)
	width := 5
	if n > 99_999 {
		out, width = append(out, 'x'), 20
	}
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	for range width - len(digits) {
		out = append(out, '0')
	}
	return append(append(append(out, digits...), '-'), cluster[:suffixLength]...)
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
	var buf [32]byte
	if err != nil || n == 0 || string(appendID(buf[:0], letter, n, cluster)) != id {
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
