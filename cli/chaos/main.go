package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// command runs the nemesis as args say: 0 all kept, 1 not, 2 wrong usage.
func command(ctx context.Context, args []string) int {
	c := config{out: os.Stdout}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.StringVar(&c.program.path, "ringmaster", "bin/ringmaster", "the `program` to break")
	flags.DurationVar(&c.time, "time", time.Minute, "how long to break things")
	flags.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()%1e6), "of the order of the faults")
	flags.IntVar(&c.agents, "agents", 5, "`number` of agents, at least 1")
	flags.DurationVar(&c.settle, "settle", 2*time.Minute, "how long everything may take to come to rest")
	flags.DurationVar(&c.pause, "pause", 2*time.Second, "between two faults, at most")
	kinds := flags.String("faults", "", "`kinds` of faults, with commas; all when empty")
	keep := flags.Bool("keep", false, "keep logs and history when all went well, too")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *kinds != "" {
		c.kinds = strings.Split(*kinds, ",")
	}
	if flags.NArg() > 0 || c.agents < 1 || c.pause < 0 {
		fmt.Fprintln(os.Stderr, "chaos: there are no arguments but flags, at least one agent, and no negative times; see -help")
		return 2
	}
	return carryOut(ctx, c, *keep)
}

// carryOut runs in a folder of its own, which is kept when something is wrong.
func carryOut(ctx context.Context, c config, keep bool) int {
	folder, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	c.folder = folder
	kept, err := run(ctx, c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v; logs are in %s\n", err, folder)
	}
	if !kept || err != nil {
		return 1
	}
	if !keep {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 1
		}
	}
	return 0
}
