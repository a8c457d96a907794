package match

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
)

// RoleChanged takes over what operators said of a role; nil settings forget it.
func (m *Matcher) RoleChanged(role offers.Role, settings *offers.RoleSettings) {
	if settings == nil {
		delete(m.roles, role)
		if m.fair.find(role) == nil {
			return
		}
		settings = &offers.RoleSettings{Weight: 1}
	} else {
		m.roles[role] = *settings
	}
	m.applyRole(role, *settings)
	m.parked.quotaMoved = true
	m.epoch++ // for the placement
}

// applyRole sets weight and quota, and takes back offers that pass the limit now.
func (m *Matcher) applyRole(role offers.Role, settings offers.RoleSettings) {
	n := m.fair.role(role)
	m.fair.setWeight(n, settings.Weight)
	n.setQuota(m.kinds, settings.Quota)
	m.enforceLimit(n, role)
	m.fair.prune(n)
}

// enforceLimit rescinds the youngest offers of a role and its descendants that
// hold what passes its limit, until it holds or no such offer is left; running
// tasks stay.
func (m *Matcher) enforceLimit(n *node, role offers.Role) {
	for k, limit := range n.quota.limit {
		if limit < 0 || n.alloc.n[k] <= limit {
			continue
		}
		for _, o := range slices.Backward(m.book.All()) {
			if n.alloc.n[k] <= limit {
				break
			}
			m.kinds.amounts(&o.Held, m.planTmp)
			if f := m.frameworks[o.Framework]; f != nil && f.role.Under(role) && m.planTmp[k] > 0 {
				m.rescind([]*offers.Offer{o}, "quota")
			}
		}
	}
}

// enforceLimits does so for every role, after tasks came back into sight.
func (m *Matcher) enforceLimits() {
	for _, role := range slices.Sorted(maps.Keys(m.roles)) {
		if n := m.fair.find(role); n != nil {
			m.enforceLimit(n, role)
		}
	}
}
