package match

import "github.com/ringmaster-project/ringmaster/rings"

// scoring rates an agent that suits, smallest best, by nothing but what the
// agent has and what the demand would take there.
type scoring func(*search, *agent) int64

// scorer is a strategy that takes the agent with the smallest score.
type scorer interface {
	score(s *search, a *agent) int64
}

var (
	_ scorer = leastRequested{}
	_ scorer = mostBalanced{}
)

// least returns, of all agents that suit the demand, the one with the smallest
// score; between equals the first in the order of the rings, so the closest fit.
// It reads every agent that has enough: a decision costs O(agents), where the
// strategies that walk rings stop early. In a turn with many demands pre-matching
// reads the agents for several of them at a time, and chooses the same.
//
// Scores are integers computed kind by kind in the order of the kinds: no two
// masters can see the same agents and choose differently.
func (s *search) least(score scoring) *agent {
	if a := s.m.arbitrate(s, score); a != nil {
		return a
	}
	return s.leastNow(score)
}

// leastNow does so without pre-matching, for scores that depend on more than
// the agent and the demand.
func (s *search) leastNow(score scoring) *agent {
	cursor := s.m.index.Candidates(rings.Kind(s.d.column), s.d.need)
	var best *agent
	var least int64
	for c, ok := cursor.Next(); ok; c, ok = cursor.Next() {
		a := s.m.bySlot[c.Slot]
		if !s.suits(a) {
			continue
		}
		n := score(s, a)
		s.rated(a, float64(n)/1e6)
		if best == nil || n < least {
			best, least = a, n
		}
	}
	return best
}

// requested returns how much of a fair kind would be given away on an agent that
// has it, in millionths of what it has, with the unit placed there. A device
// class counts once: the sum over its devices.
func (s *search) requested(a *agent, kind int) int64 {
	return a.given(kind, s.take)
}

// given returns the same with any take, nil for none.
func (a *agent) given(kind int, take []int64) int64 {
	n := a.total[kind] - max(a.fair[kind], 0)
	if take != nil {
		n += take[kind]
	}
	return millionths(n, a.total[kind])
}
