// Package load is the work that benchmarks put on a cluster: frameworks that
// demand, launch and follow tasks as fast as the masters let them, or decline
// all that they are offered, and what that took.
//
//	mix ─▶ Plan ─▶ Open: every framework is registered
//	                 │
//	                 ▼
//	               Run: all of them state their demands ─▶ Trace ─▶ Summary
//	                 │
//	                 ▼
//	               Survive: a leader is lost, another found ─▶ Recovery
//
// It starts no masters and no agents, and it measures no processes: package
// cli does. The frameworks are those of package framework, on real
// connections; a [Load] owns one goroutine for each of them while it runs, and
// [Load.Run] waits for all. What is made of a [Trace] is pure.
package load
