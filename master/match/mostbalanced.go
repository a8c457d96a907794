package match

// mostBalanced is the strategy `most-balanced`: the agent whose kinds are given
// away most evenly after the placement, so that none runs out while another is
// left over:
//
//	score = mean over kinds of (requested_k / total_k - mean)²     smallest wins
//
// over the kinds that the agent has, with mean that of [leastRequested].
//
// Source: ALGORITHMS section 3.
//
// Golden case: agents x (8 cpus, 8 GiB) and y (8 cpus, 4 GiB), and units of 4 cpus
// and 2 GiB. The first goes to y (0.5 0.5, variance 0; on x 0.5 0.25, variance
// 0.0156), where `least-requested` takes x; the second too, the third to x.
type mostBalanced struct{}

func (r mostBalanced) choose(s *search) *agent { return s.least(r.score) }

func (mostBalanced) prefers() string { return "the agent whose kinds are used most evenly" }

// score implements [scorer], in millionths of millionths: (n Σr² - (Σr)²) / n², which
// needs no mean and so rounds once. It stays below 2^63 up to 3,000 kinds.
func (mostBalanced) score(s *search, a *agent) int64 {
	var sum, squares, kinds int64
	for k, total := range a.total {
		if total > 0 {
			r := s.requested(a, k)
			sum += r
			squares += r * r
			kinds++
		}
	}
	kinds = max(kinds, 1)
	return (kinds*squares - sum*sum) / (kinds * kinds)
}
