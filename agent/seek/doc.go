// Package seek keeps an agent connected to the master that leads: it dials the
// masters in turn, follows where they point, and waits between tries, shortly
// while they elect and longer while nobody answers. Real and simulated agents
// come back in the same way because both come back through it.
//
// It starts no goroutine: [Seeker.Run] is its caller's. What is said on a
// connection is its caller's too.
package seek
