package lead

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/master/match"
)

// FollowerJoined has a master that does not lead pre-match for this one, until it
// leaves or this one leads no more.
func (c *Core) FollowerJoined(f match.Follower) {
	c.followers[f] = struct{}{}
	c.match.FollowerJoined(f)
}

// FollowerLeft says that its connection has ended.
func (c *Core) FollowerLeft(f match.Follower) {
	delete(c.followers, f)
	c.match.FollowerLeft(f)
}

// endFollowers ends their connections.
func (c *Core) endFollowers(reason string) {
	for _, f := range slices.Collect(maps.Keys(c.followers)) {
		f.End(reason)
	}
}
