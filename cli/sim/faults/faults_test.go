package faults_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/sim/faults"
)

// tail returns the last n lines of a story.
func tail(story string, n int) string {
	lines := strings.Split(strings.TrimSuffix(story, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// story runs a seed again to be read.
func story(seed uint64, o faults.Options) string {
	var b strings.Builder
	o.Trace = &b
	_, _ = faults.Run(seed, o) // it fails as it did before; the story tells
	return b.String()
}

// small makes a run that a test can afford many of.
func small() faults.Options {
	return faults.Options{Agents: 2, Frameworks: 2, Time: 12 * time.Second, Quiet: 4 * time.Minute, Pace: 400 * time.Millisecond}
}

func TestSeeds(t *testing.T) {
	for part := range uint64(4) {
		t.Run(strconv.FormatUint(part, 10), func(t *testing.T) {
			t.Parallel()
			for seed := part*50 + 1; seed <= part*50+50; seed++ {
				if _, err := faults.Run(seed, small()); err != nil {
					t.Fatalf("%v\n%s\nto see it again: %s", err, tail(story(seed, small()), 60), replay(seed, " SIM_SMALL=1"))
				}
			}
		})
	}
}

// TestCrashAtEveryStep runs one small story many times. Each time a process
// dies at another of the points at which one may: before and after each
// message that it sends and each thing that it writes down.
func TestCrashAtEveryStep(t *testing.T) {
	o := faults.Options{
		Masters: 3, Agents: 1, Frameworks: 1, Calm: 1, Time: 2 * time.Second, Quiet: 3 * time.Minute,
		Pace: time.Hour, CrashAt: 1 << 30,
	}
	var seed uint64
	var whole faults.Report
	for enough := false; !enough; enough = whole.Started >= 3 && whole.Points >= 100 {
		seed++
		var err error
		if whole, err = faults.Run(seed, o); err != nil {
			t.Fatal(err)
		}
		if seed > 100 || whole.Faults["crash at a step"] != 0 {
			t.Fatalf("too little happens in every story, or something dies: %+v", whole)
		}
	}
	const parts = 4
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			for at := part + 1; at <= whole.Points; at += parts {
				o := o
				o.CrashAt = at
				r, err := faults.Run(seed, o)
				if err != nil {
					t.Fatalf("a crash at point %d: %v\n%s", at, err, tail(story(seed, o), 60))
				}
				if r.Faults["crash at a step"] != 1 {
					t.Fatalf("%d crashes at point %d", r.Faults["crash at a step"], at)
				}
			}
		})
	}
}

// TestSeedReplays runs seeds twice: all that happens is the same to the byte.
func TestSeedReplays(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		first, err := faults.Run(seed, small())
		if err != nil {
			t.Fatal(err)
		}
		again, _ := faults.Run(seed, small())
		if first.Hash != again.Hash || first.Steps != again.Steps {
			t.Errorf("seed %d: %x after %d steps, then %x after %d", seed, first.Hash, first.Steps, again.Hash, again.Steps)
		}
		if told, retold := story(seed, small()), story(seed, small()); told != retold {
			t.Errorf("seed %d tells two stories", seed)
		}
	}
}

var update = flag.Bool("update", false, "write testdata anew")

// TestStory compares what happens in one run with what is written down, to be
// read. A change of what masters, agents and frameworks do shows in it, and one
// of the faults: then another seed may tell the better story.
func TestStory(t *testing.T) {
	o := faults.Options{
		Masters: 3, Agents: 1, Frameworks: 1, Calm: 2, Time: 12 * time.Second, Quiet: 3 * time.Minute,
		Pace: 2 * time.Second, Crashes: -1,
	}
	path := filepath.Join("testdata", "story.txt")
	got := story(storySeed, o)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	told, written := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(told), len(written)) {
		if i >= len(told) || i >= len(written) || told[i] != written[i] {
			t.Fatalf("line %d is told differently; if that is meant, read the new story and keep it with -update:\n%s\nwas\n%s",
				i+1, strings.Join(told[min(i, len(told)):min(i+5, len(told))], "\n"), strings.Join(written[min(i, len(written)):min(i+5, len(written))], "\n"))
		}
	}
}

// storySeed is one in which the leader, the agent and the framework fail.
const storySeed = 484
