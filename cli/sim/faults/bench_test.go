package faults_test

import (
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/cli/sim/faults"
)

// BenchmarkSeeds runs seeds of each length one after the other.
func BenchmarkSeeds(b *testing.B) {
	for _, calm := range []int{1, 8, 40} {
		b.Run(fmt.Sprint("calm-", calm), func(b *testing.B) {
			sum := faults.Report{Faults: map[string]int{}}
			for seed := uint64(1); b.Loop(); seed++ {
				r, err := faults.Run(seed, faults.Options{Calm: calm})
				if err != nil {
					b.Fatal(err)
				}
				sum.Add(r)
			}
			b.ReportMetric(sum.Faulty.Hours()/b.Elapsed().Seconds(), "fault-hours/s")
			b.ReportMetric(float64(sum.FaultCount())/b.Elapsed().Seconds(), "faults/s")
			b.ReportMetric(float64(sum.Steps)/float64(b.N), "steps/op")
		})
	}
}
