// Command planted plants small bugs in the real code, one at a time, and sees
// whether the tests catch them. What it shows is that every promise has a test
// which fails when the promise is broken.
//
// The bugs stand in testdata/bugs, one file a promise. The first line of a file
// is the promise; a bug is a paragraph:
//
//	offer-twice: an accepted offer stays outstanding
//		offers/book.go
//		caught by ./offers TestConsume
//	 	for _, o := range ended {
//	-		b.End(o)
//	+		_ = o
//
// Its lines from the first space, minus or plus on are those of a diff: what
// they replace must be in the file exactly once, to the byte, or else the list
// is stale and that is a failure of its own. Every test that is named must fail
// with the bug, and all must pass without any; that a test hangs until its time
// is up does not count.
//
// Nothing is copied and no file of the tree is written: the compiler is given
// the changed file in the place of the real one (go help build, -overlay). The
// tests inherit that with GOFLAGS, so that programs which they build, such as
// the agent's shim, have the bug too; the shim that is embedded in the agent
// was built before and never has it.
//
// It is a program of its own and no part of ringmaster. A bug is one go test
// in a goroutine of its own, two at a time by default; all have ended when the
// program does.
package main
