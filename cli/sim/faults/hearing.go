package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

// hearing is how long the search for one order may take.
const hearing = 5 * time.Second

// hear judges, beside all that was looked at when it happened, whether what
// the frameworks' connections carried fits one master that does one thing at a
// time. Of accepts without answer nothing is taken to be done, since authors
// use a task's id again.
func (w *world) hear() error {
	tallies, bad := linear.Judge(w.heard.Ops(), linear.Config{
		Launched: func(offers.TaskRef) bool { return false },
		Patience: hearing, Skew: w.ahead - w.early,
	})
	for _, t := range tallies {
		w.report.Operations += t.Ops
		w.report.Undecided += t.Undecided
	}
	if len(bad) == 0 {
		return nil
	}
	var b strings.Builder
	for _, o := range bad[0].Ops {
		fmt.Fprintf(&b, "\n  %v to %v: %v", time.Duration(o.Call), time.Duration(o.Return), o)
	}
	return fmt.Errorf("%s%s", bad[0].Text(), &b)
}
