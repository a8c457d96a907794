package match

// gradientRings is the strategy `rings`: the first suitable agent in the order
// of the rings, which leaves the smallest remainder where a close one is left,
// and else the largest.
//
// Source: ALGORITHMS section 1, with 7.1 and 7.2, which say in which rings a
// demand is looked up (see [Matcher.compile]) and who is spared (see
// [gradient]).
//
// Golden case: rings of cpus [0,4) [4,8) [8,12) [12,inf), reach 3, agents with
// 3 5 7 10 13 40 free. A demand of 6 goes to the 7, then 5 to the 5, then 4 to
// the 10. A demand of 11 on the fresh cluster goes to the 13.
type gradientRings struct{}

func (gradientRings) prefers() string { return "the closest fit" }

func (gradientRings) choose(s *search) *agent {
	g := s.gradient()
	for a := g.next(); a != nil; a = g.next() {
		if s.suits(a) {
			return a
		}
	}
	return nil
}
