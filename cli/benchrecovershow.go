package cli

import (
	"fmt"
	"slices"
)

// recoveryShown is what bench recover found, as -o json gives it.
type recoveryShown struct {
	Agents     int         `json:"agents"`
	Frameworks int         `json:"frameworks"`
	Tasks      int         `json:"tasks"`
	Masters    int         `json:"masters"`
	Memory     memoryShown `json:"memory"` // of the leader, once all tasks ran
	Snapshot   struct {
		Seconds     float64 `json:"seconds"` // until it was synced
		Bytes       int64   `json:"bytes"`
		LongestTurn turn    `json:"longest_turn_ms"`
	} `json:"snapshot"`
	Failures []failureShown `json:"failures"`
}

type memoryShown struct {
	Now  int64 `json:"rss_bytes"`
	Most int64 `json:"most_bytes"`
}

// failureShown is what one loss of the leader cost, in seconds from the kill.
type failureShown struct {
	Serves         float64     `json:"killed_serves_s"` // the master that was killed
	FirstFramework float64     `json:"first_framework_s"`
	Frameworks     float64     `json:"frameworks_s"` // all are registered
	Agents         float64     `json:"agents_s"`     // all are registered
	Served         float64     `json:"served_s"`     // each framework had one more task run
	LongestTurn    turn        `json:"longest_turn_ms"`
	Memory         memoryShown `json:"memory"` // of the leader afterwards
}

// turn is what no turn took longer than, in milliseconds; -1 where one took
// longer than the metrics tell.
type turn = float64

func (s *recoveryShown) draw(p *page) {
	p.printf("recover, %s, %s agents, %s frameworks, %s tasks that stay\n\n", many(s.Masters, "master"), grouped(s.Agents), grouped(s.Frameworks), grouped(s.Tasks))
	p.printf("A snapshot of %s was saved in %.2fs, with no turn above %s.\n\n", size(s.Snapshot.Bytes), s.Snapshot.Seconds, turnShown(s.Snapshot.LongestTurn))
	var rows []row
	for _, one := range []struct {
		what string
		of   func(failureShown) float64
	}{
		{"the killed master serves", func(f failureShown) float64 { return f.Serves }},
		{"the first framework is back", func(f failureShown) float64 { return f.FirstFramework }},
		{"all frameworks are back", func(f failureShown) float64 { return f.Frameworks }},
		{"all agents are back", func(f failureShown) float64 { return f.Agents }},
		{"each framework ran one more task", func(f failureShown) float64 { return f.Served }},
	} {
		var all []float64
		for _, f := range s.Failures {
			all = append(all, one.of(f))
		}
		slices.Sort(all)
		rows = append(rows, row{one.what, seconds(all[(len(all)-1)/2]), seconds(all[0]), seconds(all[len(all)-1])})
	}
	p.table(row{"AFTER THE KILL", "SECONDS", fmt.Sprintf("FASTEST OF %d", len(s.Failures)), "SLOWEST"}, rows)
	longest, after := 0.0, memoryShown{}
	for _, f := range s.Failures {
		if f.LongestTurn < 0 || longest >= 0 && f.LongestTurn > longest {
			longest = f.LongestTurn
		}
		after = memoryShown{max(after.Now, f.Memory.Now), max(after.Most, f.Memory.Most)}
	}
	p.printf("\nMeanwhile no turn was above %s.\n\n", turnShown(longest))
	p.table(row{"LEADER", "MEMORY", "AT MOST"}, []row{
		{"with all tasks", size(s.Memory.Now), size(s.Memory.Most)},
		{"that took over", size(after.Now), size(after.Most)},
	})
}

func seconds(n float64) string { return fmt.Sprintf("%.2f", n) }

func turnShown(t turn) string {
	if t < 0 {
		return "what the metrics tell"
	}
	return fmt.Sprintf("%gms", t)
}
