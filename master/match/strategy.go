package match

import (
	"cmp"

	"github.com/ringmaster-project/ringmaster/offers"
)

// strategy chooses the agent for one unit of a demand, or for the offer of a
// whole agent; nil when none suits. It sees agents only through the search,
// which lets pass what fits, meets the constraints, is not refused and stays
// within fair share and quotas. So whatever a strategy prefers, whose turn it
// is and what may be given are not its business.
//
// What it looks at is an agent's record at one moment (see [Matcher.moved]),
// nothing that an earlier search has left behind.
type strategy interface {
	chooser
	prefers() string // what it looks for, in a few words for people
}

type chooser interface {
	choose(s *search) *agent
}

// placer is a strategy under its name.
type placer struct {
	strategy
	learner  learner // the strategy, if it learns
	name     offers.Placement
	searches uint64 // that it was asked
}

// newPlacers returns one of each known strategy.
func newPlacers(config Config) map[offers.Placement]*placer {
	all := map[offers.Placement]strategy{
		offers.Rings:          gradientRings{},
		offers.Waste:          &waste{},
		offers.LeastRequested: leastRequested{},
		offers.MostBalanced:   mostBalanced{},
		offers.Balance:        newBalance(config.Balance),
		offers.Match:          newTwoSided(config.Matching),
	}
	out := make(map[offers.Placement]*placer, len(all))
	for name, s := range all {
		learns, _ := s.(learner)
		out[name] = &placer{strategy: s, learner: learns, name: name}
	}
	return out
}

// learn shows a new demand to the strategy that learns, once one is asked for.
func (m *Matcher) learn(d *demand) {
	if l := m.placerOf(d).learner; l != nil {
		m.learner = l
	}
	if m.learner != nil && d.counted() {
		m.learner.asked(m, d)
	}
}

// placerOf returns who places a demand: the strategy that it names, or that of
// its framework.
func (m *Matcher) placerOf(d *demand) *placer {
	if name := d.spec.Placement; name != "" {
		return m.placers[name]
	}
	f := d.owner
	if f.placer == nil || f.placerOf != m.epoch {
		f.placer, f.placerOf = m.placers[m.placementOf(f.role)], m.epoch
	}
	return f.placer
}

// placementOf returns the strategy that a role names, or the nearest role above
// it that names one, or the master.
func (m *Matcher) placementOf(role offers.Role) offers.Placement {
	for ; role != ""; role = role.Parent() {
		if name := m.roles[role].Placement; name != "" {
			return name
		}
	}
	return cmp.Or(m.config.Placement, offers.Rings)
}
