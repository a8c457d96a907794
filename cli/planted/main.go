package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the flags say.
type config struct {
	root, lists string
	pattern     []string // names of bugs or beginnings of them; empty: all
	promise     int      // only bugs that break it; 0: all
	jobs        int
	limit       time.Duration
	out         io.Writer
}

// command does as args say: 0 every bug was caught, 1 not, 2 wrong usage.
func command(ctx context.Context, args []string, out, problems io.Writer) int {
	c := config{out: out}
	flags := flag.NewFlagSet("planted", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&c.root, "root", ".", "the module's `folder`")
	flags.StringVar(&c.lists, "lists", "cli/planted/testdata/bugs", "the `folder` of the lists")
	flags.IntVar(&c.jobs, "jobs", 2, "`number` of bugs at a time")
	flags.DurationVar(&c.limit, "limit", 2*time.Minute, "how long the tests of a bug may run")
	only := flags.String("bug", "", "`names` of bugs, or beginnings of them, with commas; all when empty")
	flags.IntVar(&c.promise, "promise", 0, "`number` of the promise whose bugs to plant; all when 0")
	list := flags.Bool("list", false, "only tell the promises, their bugs and their tests")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || c.jobs < 1 || c.limit <= 0 {
		fmt.Fprintln(problems, "planted: there are no arguments but flags, at least one job, and a positive limit; see -help")
		return 2
	}
	c.pattern = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' || r == ' ' })
	var err error
	if c.root, err = workingRoot(c.root); err == nil {
		err = c.carryOut(ctx, *list)
	}
	if err != nil {
		fmt.Fprintln(problems, "planted:", err)
		return 1
	}
	return 0
}

// carryOut tells, or plants and judges.
func (c config) carryOut(ctx context.Context, list bool) error {
	promises, err := readLists(c.lists)
	if err != nil {
		return err
	}
	if list {
		return tell(c.out, promises)
	}
	var bugs []*bug
	of := map[*bug]*promise{}
	for _, p := range promises {
		for _, b := range p.bugs {
			if c.wants(p, b) {
				bugs, of[b] = append(bugs, b), p
			}
		}
	}
	if len(bugs) == 0 {
		return fmt.Errorf("no bug is called %s, or none breaks that promise", strings.Join(c.pattern, " or "))
	}
	if err := sound(ctx, c.root, all(bugs), c.limit); err != nil {
		return err
	}
	return c.report(c.judge(ctx, bugs), of)
}

func (c config) wants(p *promise, b *bug) bool {
	if c.promise > 0 && p.name != fmt.Sprintf("promise %d", c.promise) {
		return false
	}
	return len(c.pattern) == 0 || slices.ContainsFunc(c.pattern, func(p string) bool { return strings.HasPrefix(b.id, p) })
}

// judge judges the bugs, some at a time, and yields the verdicts in their order.
func (c config) judge(ctx context.Context, bugs []*bug) iter.Seq[verdict] {
	return func(yield func(verdict) bool) {
		var judges sync.WaitGroup
		defer judges.Wait()
		places := make(chan struct{}, c.jobs)
		verdicts := make([]chan verdict, len(bugs))
		for i := range bugs {
			verdicts[i] = make(chan verdict, 1)
		}
		judges.Go(func() {
			for i, b := range bugs {
				places <- struct{}{}
				judges.Go(func() {
					verdicts[i] <- judge(ctx, c.root, b, c.limit)
					<-places
				})
			}
		})
		for _, v := range verdicts {
			if !yield(<-v) {
				return
			}
		}
	}
}

// report prints the table, and an error when not every bug was caught.
func (c config) report(verdicts iter.Seq[verdict], of map[*bug]*promise) error {
	wide := 0
	for b := range of {
		wide = max(wide, len(b.id))
	}
	row := fmt.Sprintf("%%-%ds  %%-10s  %%-8s  %%7s  %%s\n", wide)
	fmt.Fprintf(c.out, row, "BUG", "BREAKS", "VERDICT", "SECONDS", "BY")
	n, bad, skipped := 0, 0, 0
	var why strings.Builder
	for v := range verdicts {
		n++
		switch {
		case !v.good():
			bad++
			fmt.Fprintf(&why, "%s (%s) %s", v.bug.id, v.bug.says, v)
			if v.err != nil {
				fmt.Fprintf(&why, ": %v", v.err)
			} else {
				fmt.Fprintf(&why, " %s", strings.Join(v.missed, ", "))
			}
			why.WriteByte('\n')
		case len(v.caught) == 0:
			skipped++
		}
		fmt.Fprintf(c.out, row, v.bug.id, of[v.bug].name, v, fmt.Sprintf("%.1f", v.took.Seconds()), strings.Join(v.caught, ", "))
	}
	fmt.Fprint(c.out, why.String())
	fmt.Fprintf(c.out, "%d bugs: %d caught, %d not, %d skipped\n", n, n-bad-skipped, bad, skipped)
	if bad > 0 {
		return fmt.Errorf("%d of %d bugs were not caught", bad, n)
	}
	return nil
}

// tell prints every promise with the tests that hold it and what they notice.
func tell(out io.Writer, promises []*promise) error {
	for _, p := range promises {
		fmt.Fprintf(out, "%s: %s\n", p.name, p.says)
		for _, t := range all(p.bugs) {
			fmt.Fprintf(out, "  %s: %s\n", t.pkg, strings.Join(t.names, ", "))
		}
		for _, b := range p.bugs {
			fmt.Fprintf(out, "    %s: %s\n", b.id, b.says)
		}
	}
	return nil
}
