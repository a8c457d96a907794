package scheduler

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// ref names one launch of one instance.
type ref struct {
	job     string
	run     int
	step    string // "" where the job is one step
	index   int
	attempt int
}

// taskID is JOB.RUN.INDEX.ATTEMPT, with the step before the index where the
// job has several. Names of jobs and steps hold no dot.
func (r ref) taskID() offers.TaskID {
	if r.step != "" {
		return offers.TaskID(fmt.Sprintf("%s.%d.%s.%d.%d", r.job, r.run, r.step, r.index, r.attempt))
	}
	return offers.TaskID(fmt.Sprintf("%s.%d.%d.%d", r.job, r.run, r.index, r.attempt))
}

// parseTask reads what taskID writes, and nothing else.
func parseTask(id offers.TaskID) (r ref, ok bool) {
	parts := strings.Split(string(id), ".")
	if len(parts) == 5 {
		r.step = parts[2]
		parts = append(parts[:2:2], parts[3:]...)
	}
	if len(parts) != 4 {
		return r, false
	}
	r.job = parts[0]
	for i, into := range []*int{&r.run, &r.index, &r.attempt} {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 0 {
			return r, false
		}
		*into = n
	}
	return r, r.taskID() == id
}

// chunk is how many instances one record holds.
const chunk = 50

// floorKey is the record of the highest run of all jobs that were forgotten.
const floorKey = "floor"

func jobKey(job string) string          { return "job/" + job }
func runKey(job string, run int) string { return fmt.Sprintf("run/%s/%d", job, run) }

func chunkKey(job string, run, group, n int) string {
	return fmt.Sprintf("instances/%s/%d/%d/%d", job, run, group, n)
}
