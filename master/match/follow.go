package match

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// OfferEnd is what became of an offer. It is to be read only.
type OfferEnd struct {
	*offers.Offer
	Outcome Outcome
	Reason  string // of a rescinded one
}

// Outcome is how an offer ends.
type Outcome int

// The ways in which an offer ends; there is no zero one.
const (
	_ Outcome = iota
	OfferAccepted
	OfferDeclined
	OfferRescinded
	OfferExpired
)

// Follow says whether Ready is to tell what becomes of offers, and what waits,
// from now on. What waits already is told first.
func (m *Matcher) Follow(on bool) {
	switch {
	case on && !m.followed:
		for _, id := range slices.Sorted(maps.Keys(m.frameworks)) {
			f := m.frameworks[id]
			for _, demand := range slices.Sorted(maps.Keys(f.demands)) {
				f.demands[demand].knownStop = nil
				m.waiting = append(m.waiting, f.demands[demand])
			}
		}
	case !on:
		m.ends, m.waiting = nil, nil
	}
	m.followed = on
}

// ended notes what became of an offer, if somebody wants to know.
func (m *Matcher) ended(o *offers.Offer, how Outcome, reason string) {
	if m.followed {
		m.ends = append(m.ends, OfferEnd{o, how, reason})
	}
}

// waits notes that a demand was parked, if somebody wants to know.
func (m *Matcher) waits(d *demand) {
	if m.followed && !slices.Equal(d.stopped, d.knownStop) {
		m.waiting = append(m.waiting, d)
	}
}

// overheard returns what was noted since it was called last.
func (m *Matcher) overheard() (ends []OfferEnd, waits []Waiting) {
	for _, d := range m.waiting {
		if len(d.stopped) > 0 && !slices.Equal(d.stopped, d.knownStop) {
			d.knownStop = d.stopped
			waits = append(waits, d.waits())
		}
	}
	ends, m.ends, m.waiting = m.ends, nil, nil
	return ends, waits
}
