// Package jobs is the built-in jobs framework: it keeps job files running on
// the cluster. It is written on nothing but package framework, as anybody's
// could be.
//
//	people ──HTTP──▶ master ──▶ ┌────────┐ demands, launches  ┌────────┐
//	                            │ Daemon │ ─────────────────▶ │ master │
//	       package spec: files  │        │ ◀───────────────── │        │
//	  package scheduler: why    └────────┘ offers, updates    └────────┘
//	                               └── records in the framework's own store
//
// What is to be done is decided in package scheduler, which is pure. The
// daemon is the shell around it: one goroutine owns the scheduler, one reads the
// framework's events, one at a time writes records, and those of HTTP hand
// their questions to the first. All of them have ended when [Daemon.Run] returns.
//
// # Several instances
//
// Any number of daemons may run; one of them works and the others stand by. All
// share one framework id, which they find by the label [Label] in the
// cluster's list of frameworks. One that stands by takes over when the
// framework is not connected: the masters fence the connection before it. The
// key "lease" in the store fences what connections don't: whoever takes over
// raises its version, and one that finds another version than its own, after its
// connection was away or at any write, stops working and stands by. Every
// record is written on the condition that nobody else wrote it.
//
// Where two start a first time together, both register; the elder id stays and
// the younger is removed before anything was done with it.
//
// # How people reach it
//
// The daemon serves HTTP where it says (with the token, TLS and checks of
// origin of every daemon) and tells the masters its address in the label. The
// masters pass /v1/jobs on to the one that is connected, so that whoever
// reaches a master reaches the jobs, wherever they are at the moment.
package jobs
