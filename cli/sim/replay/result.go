package replay

import (
	"math"
	"time"
)

// Result is what a policy came to, as means over the orders.
type Result struct {
	Policy Policy
	Alloc  map[int]float64 // allocated in % of all, by mark; without marks that were not reached
	// FirstRefusal is how much had arrived, in % of all, when a task was refused
	// first; 0 where none was.
	FirstRefusal     float64
	Lost, LostSpread float64 // of what was asked, in %, and the standard deviation between the runs
	WaitP50, WaitP99 time.Duration
	Mean             Sample // of the measured time, or the end where nothing ends
	Samples          []Sample
	Runs             []Tally
}

// Tally is what one run came to.
type Tally struct {
	Seed         int64
	Alloc        map[int]float64 // allocated in %, mean over the arrivals at each rounded % of arrived; nil where tasks end
	FirstRefusal float64         // 0: no task that asks for the measured kind was refused
	Placed       int
	Refused      int
	Waiting      int     // at the end
	Lost         float64 // of what was asked of the measured kind after the warm time, in %
	WaitP50      time.Duration
	WaitP99      time.Duration
	Mean         Sample
	Samples      []Sample
	Step         time.Duration // between two samples, where tasks end
}

// thin leaves every second sample.
func (t *Tally) thin() {
	kept := t.Samples[:0]
	for i := 0; i < len(t.Samples); i += 2 {
		kept = append(kept, t.Samples[i])
	}
	t.Samples, t.Step = kept, 2*t.Step
}

// Sample is a moment of a run, or the mean of several.
type Sample struct {
	At       time.Duration      // since the beginning; 0 where nothing ends
	Arrived  float64            // in % of all, where nothing ends
	Used     [kindCount]float64 // in % of all
	Stranded [kindCount]float64 // in % of all, see losses.stranded
	Idle     float64            // whole devices
	Waiting  float64            // tasks
	Unfair   float64            // in % of the cluster, see fairness.off
}

func (s *Sample) add(o Sample) {
	s.At += o.At
	s.Arrived += o.Arrived
	for k := range s.Used {
		s.Used[k] += o.Used[k]
		s.Stranded[k] += o.Stranded[k]
	}
	s.Idle += o.Idle
	s.Waiting += o.Waiting
	s.Unfair += o.Unfair
}

func (s *Sample) scale(by float64) {
	s.At = time.Duration(float64(s.At) * by)
	s.Arrived *= by
	for k := range s.Used {
		s.Used[k] *= by
		s.Stranded[k] *= by
	}
	s.Idle *= by
	s.Waiting *= by
	s.Unfair *= by
}

// sum makes the means over the runs.
func (r *Result) sum() {
	r.Alloc = map[int]float64{}
	for _, mark := range Marks {
		if values := r.each(func(t *Tally) (float64, bool) { v, reached := t.Alloc[mark]; return v, reached }); len(values) == len(r.Runs) {
			r.Alloc[mark] = mean(values)
		}
	}
	r.FirstRefusal = mean(r.each(func(t *Tally) (float64, bool) { return t.FirstRefusal, t.FirstRefusal > 0 }))
	lost := r.each(func(t *Tally) (float64, bool) { return t.Lost, true })
	r.Lost, r.LostSpread = mean(lost), deviation(lost)
	r.WaitP50 = time.Duration(mean(r.each(func(t *Tally) (float64, bool) { return float64(t.WaitP50), true })))
	r.WaitP99 = time.Duration(mean(r.each(func(t *Tally) (float64, bool) { return float64(t.WaitP99), true })))
	longest, step := 0, time.Duration(0)
	for i := range r.Runs {
		step = max(step, r.Runs[i].Step)
	}
	for i := range r.Runs {
		for r.Runs[i].Step < step {
			r.Runs[i].thin()
		}
		r.Mean.add(r.Runs[i].Mean)
		longest = max(longest, len(r.Runs[i].Samples))
	}
	r.Mean.scale(1 / float64(max(len(r.Runs), 1)))
	for i := range longest {
		r.Samples = append(r.Samples, r.sampleAt(i))
	}
}

// sampleAt returns the mean of the runs that have an i-th sample.
func (r *Result) sampleAt(i int) Sample {
	var s Sample
	n := 0.0
	for _, t := range r.Runs {
		if i < len(t.Samples) {
			s.add(t.Samples[i])
			n++
		}
	}
	s.scale(1 / n)
	return s
}

// each returns what the runs have of something.
func (r *Result) each(of func(*Tally) (float64, bool)) []float64 {
	var values []float64
	for i := range r.Runs {
		if v, has := of(&r.Runs[i]); has {
			values = append(values, v)
		}
	}
	return values
}

// mean adds in a fixed order, so that it is the same every time.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// deviation returns the standard deviation of a sample, 0 of fewer than two.
func deviation(values []float64) float64 {
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(max(len(values)-1, 1)))
}
