// Package master is the daemon that agents, frameworks and operators talk to.
//
//	frameworks ─┐              ┌─▶ match: who gets what (soft, leader only)
//	agents ─────┼─▶ sessions ─▶│ loop
//	operators ──┘    HTTP      └─▶ replica ─▶ majority ─▶ state
//	                  ▲                                    │
//	                  └──────── immutable pictures ◀───────┘
//
// One goroutine, the loop, owns everything that only a leader may hold; it is
// built on gaining leadership and dropped on losing it. Sessions own their
// sockets. HTTP and metrics read immutable pictures and take no lock. What is
// decided is decided in master/match, what lasts is master/state, how it is
// replicated is master/replica; this package is the shell around them.
//
// [Master.Run] starts and waits for every goroutine: the loop, the HTTP
// server, and with it the sessions, each served by the goroutine of the
// request that was upgraded, and where it is configured the one that reads
// agents for another master while that leads.
package master
