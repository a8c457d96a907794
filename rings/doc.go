// Package rings answers: who has room? It keeps, for every resource kind, the
// agents in rings by what they have free of it, and finds for a demand the
// agents that fit in the order of a gradient: the smallest sufficient
// remainder first, and, past a configured reach, the largest remainders.
//
// It is pure: no goroutine, clock, lock, I/O or log. It knows nothing of
// devices, constraints or refusals; its user (the matcher) rejects a candidate
// for such a reason by asking the cursor for the next. An [Index] belongs to
// one goroutine, for lookups too.
//
// # The rings
//
// Bounds 0 4 8 12 and Reach 3. Demand 5 walks the rings as numbered below:
//
//	free    0         4         8         12
//	        |  ring 1 |  ring 2 |  ring 3 |  ring 4 (outermost, open)
//	agents  | a1=3    | a2=5    | a4=10   | a5=13      a6=40
//	        |         | a3=7    |         |
//	walk                1st: a2,  2nd: a4   3rd: a5,
//	                    then a3             then a6
//
// A ring is a stretch of one order: agents by what they have free of the kind,
// then of the other kinds, then by id (before the other kinds by a measure of the
// user's own, where there is one: see [Layout]). So a ring is found by its bound, ascending
// rings are one ascending walk, and an agent is in exactly one ring of every
// kind it has. Agents with nothing free of a kind are put into its order only
// while somebody asks who comes to them, see late.go.
//
// # The trees
//
// Agents that have exactly the same are a lot (see lots.go), and lots are what the
// trees hold. The order of a kind is a B+tree with 32 lots to a leaf and 64 children to
// an inner node. Beside each child stand its tops, upper bounds of what any lot under
// it has free of every kind:
//
//	           least lot     l2            l9            l4
//	inner      tops          cpus 7        cpus 9        cpus 11
//	                         mem 64        mem 2         mem 128
//	                          |             |             |
//	leaves                  l2 .. l3      l9 .. l7      l4 .. l8
//	                        |     |
//	lots               a1 a5 a9   a7
//
// A demand of 5 cpus and 8 mem passes over the middle leaf unread. Tops may be
// too high after agents got less: lowering them at once would mean to read a
// whole leaf for every allocation. A search that passed through a node in vain
// lowers them (see tops.go), so a lookup writes, though only summaries.
//
// On a large cluster all of this waits for memory, so nodes, lots and agents are
// numbers into slices without pointers, an entry's amounts are one word (see
// node.go), and tops and lots are compared by 16 bits an amount before they are
// in full (see lanes.go).
//
// # Costs
//
// With a agents in n lots, m kinds, r rings of the kind. None of these allocates,
// except for nodes now and then as lots come or spread, and for lookups in more than 16
// kinds and measures.
//
//	Closest, first Next   O(m log n)        amortised, where tops tell the truth, and
//	                      O(log a) for each agent that came into the lot
//	further Next          O(m)              amortised over the agents that fit
//	  that finds nothing  O(m (log n + r))
//	Set, Move             O(m), and where a lot comes or ends
//	                      O(m (m + log n)); O(1) in a kind that is not asked for,
//	                      which the next question in it makes up for, see late.go
//	  that gives room     one look upwards more per kind
//	Remove                O(m log n)        the slot goes to the next new agent
//	tightening a node     O(64 m)           at most once per lot that left it
//	asking of a kind for nothing            O(n log n) once, for the lots that have
//	                                        nothing of it; for as many questions as
//	                                        there are lots they cost no more
//	asking of a kind that nobody asked of   the same, for who has any of it; before
//	for as many questions as lots           that what changes costs nothing in it
//	memory                about 50 bytes per lot and kind, and 50 per agent
//
// What tops cannot see is a leaf where one lot has the cpus and another the
// memory: such leaves are read. Lots sorted by cpus whose memory is strewn
// independently of it therefore cost more the rarer the fitting pair is.
package rings
