package faults_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/cli/sim/faults"
)

// replay is what to call to run one seed again and read it.
func replay(seed uint64, more string) string {
	return fmt.Sprintf("make sim SEED=%d SEEDS=1 SIM_TRACE=story.txt%s", seed, more)
}

// enough failures end a soak.
const enough = 10

// soak runs seeds on all cores, one after the other on each.
type soak struct {
	t       *testing.T
	options faults.Options
	more    string // of the options, for replay
	start   time.Time
	end     time.Time // zero: by the number of seeds

	mu     sync.Mutex
	next   uint64
	left   int // seeds; negative: as many as there is time for
	ran    int
	sum    faults.Report
	failed []uint64
}

// TestForATime runs on for SIM_TIME, or for SEEDS seeds, from the seed SEED;
// make sim does.
func TestForATime(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("SIM_TIME"))
	if err != nil {
		t.Skip("it runs for SIM_TIME; see make sim")
	}
	s := &soak{t: t, start: time.Now(), next: number(t, "SEED", 1), left: int(number(t, "SEEDS", 0)), sum: faults.Report{Faults: map[string]int{}}}
	if s.left == 0 {
		s.left, s.end = -1, s.start.Add(span)
	}
	if os.Getenv("SIM_SMALL") != "" {
		s.options, s.more = small(), " SIM_SMALL=1"
	}
	// What a run leaves behind is small; collecting it at once is not.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	first := s.next
	t.Logf("seeds from %d, for %s", first, span)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(s.work)
	}
	done := make(chan struct{})
	go func() { defer close(done); workers.Wait() }()
	ticker := time.NewTicker(min(max(span/20, 5*time.Second), 5*time.Minute))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.Log(s.line())
			continue
		case <-done:
		}
		break
	}
	slices.Sort(s.failed)
	verdict := "every promise was kept"
	if len(s.failed) > 0 {
		verdict = fmt.Sprintf("BROKEN by the seeds %v", s.failed)
	}
	t.Logf("%s\n%s%s", s.line(), s.sum.String(), verdict)
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// take returns the next seed, false when there is none.
func (s *soak) take() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || len(s.failed) >= enough || !s.end.IsZero() && time.Now().After(s.end) {
		return 0, false
	}
	s.left--
	s.next++
	return s.next - 1, true
}

func (s *soak) work() {
	for {
		seed, more := s.take()
		if !more {
			return
		}
		r, err := faults.Run(seed, s.options)
		s.mu.Lock()
		s.ran++
		s.sum.Add(r)
		if err != nil {
			s.failed = append(s.failed, seed)
		}
		s.mu.Unlock()
		if path := os.Getenv("SIM_TRACE"); path != "" && (err != nil || os.Getenv("SEEDS") == "1") {
			if err := os.WriteFile(path, []byte(story(seed, s.options)), 0o600); err != nil {
				s.t.Error(err)
			}
		}
		if err != nil {
			s.t.Errorf("%v\n%s\nto see it again: %s", err, tail(story(seed, s.options), 60), replay(seed, s.more))
		}
	}
}

// line says how far the soak is.
func (s *soak) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(s.start)
	return fmt.Sprintf("%d seeds in %s (%.1f a second), %.1f hours under faults of %.1f simulated, %d faults, %d seeds broken",
		s.ran, took.Round(time.Second), float64(s.ran)/took.Seconds(), s.sum.Faulty.Hours(), s.sum.Simulated.Hours(), s.sum.FaultCount(), len(s.failed))
}
