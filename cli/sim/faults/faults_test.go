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

func TestSeeds(t *testing.T) {
	for seed := uint64(1); seed <= 200; seed++ {
		if _, err := faults.Run(seed, faults.Options{}); err != nil {
			t.Fatalf("%v\n%s", err, tail(story(seed, faults.Options{}), 60))
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
