package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/linear"
	"github.com/ringmaster-project/ringmaster/offers"
)

// shownFindings bounds what is printed of one check; the rest is in the files.
const shownFindings = 5

// report prints what was done, what was seen and the verdict.
func (l *lab) report(e evidence, tallies []linear.Tally, findings []finding) {
	w := l.out
	fmt.Fprintf(w, "\n%-22s %6s %8s %7s\n", "fault", "done", "skipped", "failed")
	total := 0
	for _, f := range faults() {
		c := l.counts[f.kind]
		if c == nil {
			c = &count{}
		}
		total += c.done
		fmt.Fprintf(w, "%-22s %6d %8d %7d\n", f.kind, c.done, c.skipped, c.failed)
	}
	fmt.Fprintf(w, "%-22s %6d\n\n", "all", total)
	l.reportWork(e)
	l.reportFailovers()
	l.reportTallies(tallies)
	fmt.Fprintln(w)
	for _, c := range checks {
		n := 0
		for _, f := range findings {
			if f.check == c.name {
				n++
			}
		}
		verdict := "PASS"
		if n > 0 {
			verdict = fmt.Sprintf("FAIL (%d)", n)
		}
		fmt.Fprintf(w, "%-9s %-12s %s\n", verdict, c.name, c.says)
		l.reportFindings(c.name, findings, e)
	}
	if len(findings) > 0 {
		fmt.Fprintf(w, "\nFAIL: seed %d, %d findings; logs and history are in %s\n", l.seed, len(findings), l.folder)
	} else {
		fmt.Fprintf(w, "\nPASS: seed %d, %d faults in %v\n", l.seed, total, time.Since(l.started).Round(time.Second))
	}
}

// reportWork says what the frameworks had done.
func (l *lab) reportWork(e evidence) {
	states, accepted, deeds := map[offers.State]int{}, 0, map[deed]int{}
	told := stories(e.entries)
	for _, s := range told {
		if s.accepted {
			accepted++
		}
		for _, end := range s.ends() {
			states[end]++
		}
	}
	for _, x := range e.entries {
		deeds[x.Deed]++
	}
	samples, scans, _ := l.watch.found()
	fmt.Fprintf(l.out, "%d tasks submitted, %d accepted, %d started; ends delivered: %v\n", len(told), accepted, len(e.traces), states)
	fmt.Fprintf(l.out, "frameworks registered %d times, left %d times, were given up %d times, lost the leader %d times\n",
		deeds[registered], deeds[left], deeds[abandoned], deeds[disconnected])
	fmt.Fprintf(l.out, "%d samples of the leader's books, %d of the host's processes\n", samples, scans)
}

// reportFailovers prints how long frameworks were without offers.
func (l *lab) reportFailovers() {
	var took []time.Duration
	for _, f := range l.failovers {
		if at, ok := l.book.firstOffer(f.old); ok {
			took = append(took, at.Sub(f.at))
		}
	}
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	fmt.Fprintf(l.out, "kill -9 of the leader to the first new offer, %d times: p50 %v, max %v\n",
		len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// reportTallies prints what was looked at for an order.
func (l *lab) reportTallies(tallies []linear.Tally) {
	fmt.Fprintf(l.out, "\n%-9s %9s %10s %10s %9s %8s\n", "history", "parts", "operations", "unanswered", "undecided", "judged")
	for _, t := range tallies {
		fmt.Fprintf(l.out, "%-9s %9d %10d %10d %9d %8v\n", t.Model, t.Parts, t.Ops, t.Unknown, t.Undecided, t.Took.Round(time.Millisecond))
	}
}

func (l *lab) reportFindings(check string, findings []finding, e evidence) {
	n := 0
	for _, f := range findings {
		if f.check != check {
			continue
		}
		if n++; n > shownFindings {
			continue
		}
		fmt.Fprintf(l.out, "          %s\n", f.text)
		for _, line := range historyOf(e.entries, f.author) {
			fmt.Fprintf(l.out, "            %s\n", line)
		}
	}
	if n > shownFindings {
		fmt.Fprintf(l.out, "          and %d more\n", n-shownFindings)
	}
}
