package cli

import (
	"os"
	"runtime/debug"
)

// collectLess has the garbage collector run when the heap has tripled since it
// ran last, and not when it has doubled, unless GOGC says otherwise. Of a
// loaded master's time it takes a seventh less for a quarter more memory, as
// measured with bench run.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}
