// Package match is the thread-unsafe core of a leading master: who is offered
// what. Inputs are methods of [Matcher] (agents that come, go and change,
// demands, accepts, declines, ended tasks, roles); output is data, collected
// by [Matcher.Ready] once a turn. It has no goroutine, lock, clock, I/O or log.
//
//	demand ─▶ fair (whose turn: DRF over roles) ─▶ find (rings, closest fit) ─▶ hold ─▶ offer
//	                │                                  │
//	                └── parked, until room of its shape, a quota or a refusal moves
//
// Its neighbours: package rings answers who has room, package offers keeps the
// outstanding offers (Book) and the room of each agent (Room), package
// master/state is what a new leader builds a Matcher from. Package master owns
// it: everything here is soft state of one leader in one term.
//
// Costs: serving one unit is O(depth of the role + log frameworks) for fair
// share, one ring lookup (or with `least-requested`, `most-balanced` and `balance`
// a look at every agent that fits, which with the first two pre-matchers share among
// them, here and on followers) and one move of the agent. A demand that nobody can
// serve costs nothing until something changes for it, and one that others come before
// next to nothing: of the demands that a unit which comes free would suit, only those are
// woken that get some of it, see hope. What a framework's demands
// cost in vain keeps others waiting for a lap at most. What is offered and left
// unanswered is taken back for who has less, see [Matcher.Claim]. An accept costs
// O(tasks), a View O(cluster).
package match
