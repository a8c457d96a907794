package faults_test

import (
	"os"
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
					t.Fatalf("%v\n%s", err, tail(story(seed, small()), 60))
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

// TestForATime runs on for SIM_TIME from the seed SEED; make sim does.
func TestForATime(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("SIM_TIME"))
	if err != nil {
		t.Skip("it runs for SIM_TIME; see make sim")
	}
	first := uint64(1)
	if text := os.Getenv("SEED"); text != "" {
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SEED: %v", err)
		}
	}
	var sum faults.Report
	sum.Faults = map[string]int{}
	start, seeds := time.Now(), 0
	for seed := first; time.Since(start) < span; seed++ {
		r, err := faults.Run(seed, faults.Options{})
		if err != nil {
			t.Errorf("%v", err)
			if path := os.Getenv("SIM_TRACE"); path != "" {
				if err := os.WriteFile(path, []byte(story(seed, faults.Options{})), 0o600); err != nil {
					t.Error(err)
				}
				return
			}
			t.Logf("%s", tail(story(seed, faults.Options{}), 200))
			return
		}
		seeds++
		sum.Add(r)
	}
	t.Logf("%d seeds from %d in %s (%.0f a second)\n%s", seeds, first, time.Since(start).Round(time.Second), float64(seeds)/time.Since(start).Seconds(), sum.String())
}
