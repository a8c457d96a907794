package frameworktest

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// state answers a request to the durable store, which outlives connections. A
// key never has a version twice.
func (c *Cluster) state(m *wire.StateRequest) wire.Message {
	have := c.store[m.Key]
	answer := &wire.StateAnswer{Op: m.Op, Key: m.Key}
	if m.Version != nil && *m.Version != have.Version {
		return &wire.ErrorMessage{Code: offers.VersionConflict, Message: "key " + m.Key + " has another version"}
	}
	switch m.Op {
	case "get":
		answer.Value, answer.Version = have.Value, have.Version
	case "list":
		for _, key := range slices.Sorted(maps.Keys(c.store)) {
			if strings.HasPrefix(key, m.Key) {
				answer.Keys = append(answer.Keys, key)
			}
		}
	case "put":
		c.writes++
		c.store[m.Key] = wire.StateAnswer{Value: m.Value, Version: c.writes}
		answer.Version = c.writes
	case "delete":
		delete(c.store, m.Key)
	}
	return answer
}
