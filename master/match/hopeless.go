package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Hopeless is a demand that no agent could take that is known, also of those
// that are away, even with nothing given away; or a gang that all of them
// together could not. It stands all the same: another
// agent may come. Before the first one came nothing is. What it is found by is true, but does not find all: that an
// agent has too few devices of a size, or other ports, is not looked at.
type Hopeless struct {
	Framework offers.FrameworkID
	Demand    offers.DemandID
	Stopped   []string
	Why       string // a sentence
}

// never says why d is hopeless, "" where it is not. It costs O(agents) for the
// first in an epoch and for those with constraints, and else O(kinds of agents).
func (m *Matcher) never(d *demand) string {
	if len(m.agents) == 0 {
		return "" // the first are on their way
	}
	unknown := m.unknownKinds(d)
	m.survey()
	if len(unknown) > 0 || !slices.ContainsFunc(m.makes, func(most []int64) bool { return covers(most, d.need) }) {
		return m.tooMuch(d, unknown)
	}
	if len(d.spec.Constraints) > 0 && !m.somebodyMeets(d) {
		return "no agent that is known and has enough meets " + m.conditions(d)
	}
	return m.tooVast(d)
}

// conditions names the constraints of d that an agent meets or not, as far as a
// sentence holds them. Limits are among them where no agent has what they count
// by.
func (m *Matcher) conditions(d *demand) string {
	var list []string
	for _, c := range d.spec.Constraints {
		if c.Limit() == 0 || !m.anybodyMeets(c) {
			list = append(list, c.String())
		}
	}
	text := []rune(strings.Join(list, " and "))
	if len(text) > maxConditions {
		return string(text[:maxConditions]) + "..."
	}
	return string(text)
}

const maxConditions = 200

func (m *Matcher) anybodyMeets(c offers.Constraint) bool {
	for _, a := range m.agents {
		if c.Met(&a.info.Agent) {
			return true
		}
	}
	return false
}

func (m *Matcher) somebodyMeets(d *demand) bool {
	for _, a := range m.agents {
		m.search.looks++
		if meets(d, a) && covers(m.kinds.all(a), d.need) {
			return true
		}
	}
	return false
}

// survey finds out what kinds of agents there are.
func (m *Matcher) survey() {
	if m.makesOf == m.epoch {
		return
	}
	m.makes, m.makesOf = nil, m.epoch
	seen := map[string]bool{}
	for _, a := range m.agents {
		most := m.kinds.all(a)
		if key := fmt.Sprint(most); !seen[key] {
			seen[key] = true
			m.makes = append(m.makes, most)
		}
	}
}

// all returns what an agent has in all, by column.
func (k *kinds) all(a *agent) []int64 {
	out := make([]int64, k.columns())
	for c := range k.ringed() {
		out[c] = k.most(a, c)
	}
	return out
}

// tooMuch names every kind of which d asks more than any agent has, those that
// no agent has at all first, or else all that it asks for together.
func (m *Matcher) tooMuch(d *demand, unknown []string) string {
	var asked []string
	passed := slices.Clone(unknown)
	for c, n := range d.need {
		if n == 0 {
			continue
		}
		var most int64
		for _, have := range m.makes {
			most = max(most, have[c])
		}
		kind := m.kinds.columnName(c)
		if n > most {
			passed = append(passed, fmt.Sprintf("%s %s (the largest has %s)", amountOf(c, n), kind, amountOf(c, most)))
		}
		asked = append(asked, kind)
	}
	if len(passed) > 0 {
		return "no agent that is known has " + strings.Join(passed, " or ")
	}
	return "no agent that is known has so much of " + strings.Join(asked, " and ") + " together"
}

// amountOf writes an amount of a column in the unit of its kind, without loss.
func amountOf(column int, n int64) string {
	switch {
	case column == int(offers.CPUs):
		return offers.FormatCPUs(n)
	case column == int(offers.Bandwidth), column >= scalars && (column-scalars)%2 == 0: // bits a second, devices
		return fmt.Sprint(n)
	}
	return offers.FormatSize(n)
}
