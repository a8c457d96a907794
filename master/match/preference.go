package match

import (
	"math"
	"slices"
)

// nobody is less than any sum of preferences.
const nobody = math.MinInt

// prefer lets the strategy choose among the agents that the demand prefers: of
// those that suit, the ones with the largest
//
//	Σ weight_i over the conditions that the agent meets
//
// Without preferences that is all of them. With some, the strategy is first
// asked for an agent that meets all there is to be met. Where there is none it
// has looked at every agent that has enough, which shows how much can be had,
// and is asked for an agent with that much: a demand with preferences costs two
// searches at most, the first of which may be one of O(agents).
func (s *search) prefer(by chooser) *agent {
	if s.trail != nil {
		s.trail.restart()
	}
	if len(s.d.spec.Preferences) == 0 {
		return by.choose(s)
	}
	s.floor, s.below = s.d.spec.MostPreferred(), nobody
	if a := by.choose(s); a != nil || s.below == nobody {
		return a
	}
	s.floor = s.below
	if s.trail != nil {
		s.trail.restart()
	}
	return by.choose(s)
}

// wanted reports whether an agent that suits is preferred enough, and otherwise
// notes how much it is.
func (s *search) wanted(a *agent) bool {
	if s.trail != nil && slices.Contains(s.trail.won, a) {
		return false // and is none of those who come next
	}
	sum := s.d.spec.Preferred(&a.info.Agent)
	if sum >= s.floor {
		return true
	}
	s.below = max(s.below, sum)
	return false
}
