package match

// leastRequested is the strategy `least-requested`: the agent of which the
// smallest part is given away after the placement, so load is spread evenly:
//
//	score = mean over kinds of requested_k / total_k     smallest wins
//
// over the kinds that the agent has; requested is what tasks and offers hold,
// and the unit itself.
//
// Source: ALGORITHMS section 3.
//
// Golden case: agents a (10 cpus, 10 GiB) and b (20 cpus, 20 GiB), and units of
// 4 cpus and 4 GiB. The first goes to b (0.2, on a it would be 0.4), the second
// to a (0.4 on both, a is the closer fit), the third to b (0.4 against 0.8). A
// class counts by the sum of its devices: of c (10 cpus, 24 24 24 24 of gpu) with
// 3 0 20 7 taken, a slice of 5 makes (0 + 35/96) / 2.
type leastRequested struct{}

func (r leastRequested) choose(s *search) *agent { return s.least(r.score) }

func (leastRequested) prefers() string { return "the agent that is left emptiest" }

// score implements [scorer], in millionths.
func (leastRequested) score(s *search, a *agent) int64 {
	var sum, kinds int64
	for k, total := range a.total {
		if total > 0 {
			sum += s.requested(a, k)
			kinds++
		}
	}
	return sum / max(kinds, 1)
}
