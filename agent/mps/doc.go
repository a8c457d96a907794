// Package mps has tasks share a GPU through NVIDIA's Multi-Process Service: one
// control daemon for each GPU that has sharing tasks, started for the first of
// them and ended after the last. The daemon's limits are the driver's; a program
// that takes the variables away which name them escapes them, so whoever claims
// the tier driver watches the memory of processes as well.
//
// The service lets in one user at a time, and a program talks to one daemon. So
// a task of another user than those that share a GPU already, and one with parts
// of several GPUs, goes without.
//
// Daemons outlive the agent, as tasks do; [Open] finds them again. It starts no
// goroutine; the methods of a [Service] may be called side by side and wait for
// the daemon, for a bounded time.
//
// Source: NVIDIA, "Multi-Process Service", chapters 5 and 6.
package mps
