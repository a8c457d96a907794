// Package scheduler decides what becomes of jobs: what to demand, what to
// launch in an offer, what to run again and when, what to kill, and what has
// to be on disk before an update may be acknowledged.
//
// It is pure: no goroutine, lock, clock, I/O or log. The shell around it
// (package jobs) feeds it with the time, the wishes of people and the events of
// the framework, and does what [Scheduler.Take] says:
//
//	wishes, time ──▶ ┌───────────┐ ──▶ demands, accepts, declines, kills
//	events ────────▶ │ Scheduler │ ──▶ records to write, then updates to acknowledge
//	records ───────▶ └───────────┘ ──▶ when to look again
//
// # Names and records
//
// A job has numbered versions of its file and numbered runs; a run has
// instances. Each launch of an instance is a task of its own:
// JOB.RUN.INDEX.ATTEMPT, so that an id says all there is to know about what
// runs. A launch is therefore not written down before it happens: after a
// restart the masters tell which tasks there are, and their ids say whose they
// are. What ended is written before it is acknowledged; until then the masters
// tell it again. A run is written before anything of it is launched, so that
// its number is never given twice.
//
//	job/NAME              the job with its versions
//	run/NAME/RUN          one run
//	instances/NAME/RUN/STEP/N  fifty instances of it
//	floor                 the highest number of all runs that were forgotten
//
// [InOrder] says in which order they are written: whatever breaks, a beginning
// of it is a state to go on from.
package scheduler
