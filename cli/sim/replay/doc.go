// Package replay replays a workload on virtual time through the allocator of
// the master: package master/match itself, with demands, offers and accepts,
// fair share included. What it measures of a strategy is what a cluster would
// see of it.
//
//	nodes ──▶ agents ─┐
//	tasks ──▶ demands ┼─▶ match.Matcher ─▶ offers ─▶ accepts ─▶ Tally ─▶ Result
//	order ────────────┘
//
// It reads the public openb traces as they are published, and the same columns
// under plainer names (see [ReadNodes], [ReadTasks], [ReadArrivals]). Seeds run
// in parallel, each on a matcher of its own; [Run] waits for all of them.
package replay
