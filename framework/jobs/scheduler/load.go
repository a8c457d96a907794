package scheduler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

// load builds the jobs from their records. A record whose surroundings are
// missing is of something whose deletion was cut short: it is deleted.
func (s *Scheduler) load(records map[string]json.RawMessage) error {
	keys := slices.SortedFunc(maps.Keys(records), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, key := range keys {
		known, err := s.loadOne(key, records[key])
		if err != nil {
			return fmt.Errorf("the record %s can't be read: %w", key, err)
		}
		if !known {
			s.put(key, nil)
		}
	}
	for name, j := range s.jobs {
		if len(j.runs) == 0 && !j.timed() {
			s.drop(j)
			delete(s.jobs, name)
			continue
		}
		j.changed = s.changes
		j.plan()
		slices.SortFunc(j.runs, func(a, b *run) int { return a.Number - b.Number })
		for _, r := range j.runs {
			s.touch(r)
		}
		j.Runs = max(j.Runs, j.lastRun())
	}
	return nil
}

func (j *job) lastRun() int {
	if len(j.runs) == 0 {
		return 0
	}
	return j.runs[len(j.runs)-1].Number
}

// rank is the order in which records need each other.
func rank(key string) int {
	kind, _, _ := strings.Cut(key, "/")
	return slices.Index([]string{"job", "run", "instances"}, kind)
}

func (s *Scheduler) loadOne(key string, text json.RawMessage) (known bool, err error) {
	parts := strings.Split(key, "/")
	switch {
	case key == floorKey:
		return true, json.Unmarshal(text, &s.floor)
	case parts[0] == "job" && len(parts) == 2:
		j := &job{}
		if err := json.Unmarshal(text, &j.Job); err != nil {
			return true, err
		}
		if j.Name != parts[1] || len(j.Versions) == 0 {
			return true, fmt.Errorf("it is not the job's")
		}
		s.jobs[j.Name] = j
		return true, nil
	case parts[0] == "run" && len(parts) == 3:
		j := s.jobs[parts[1]]
		if j == nil {
			return false, nil
		}
		r := &run{job: j, durable: true}
		if err := json.Unmarshal(text, &r.Run); err != nil {
			return true, err
		}
		v := j.version(r.Version)
		if v == nil {
			return false, nil
		}
		r.groups = newGroups(r, v)
		j.runs = append(j.runs, r)
		return true, nil
	case parts[0] == "instances" && len(parts) == 5:
		return s.loadChunk(key, parts, text)
	}
	return true, fmt.Errorf("its key is unknown")
}

func (s *Scheduler) loadChunk(key string, parts []string, text json.RawMessage) (known bool, err error) {
	j := s.jobs[parts[1]]
	if j == nil {
		return false, nil
	}
	var list []Instance
	if err := json.Unmarshal(text, &list); err != nil {
		return true, err
	}
	for _, r := range j.runs {
		for _, g := range r.groups {
			for n := 0; n*chunk < len(g.instances); n++ {
				if chunkKey(j.Name, r.Number, g.number, n) == key {
					for _, in := range list[copy(g.instances[n*chunk:], list):] {
						s.count(j, in.Attempt)
					}
					return true, nil
				}
			}
		}
	}
	for _, in := range list {
		s.count(j, in.Attempt)
	}
	return false, nil
}

func (j *Job) version(number int) *Version {
	for i := range j.Versions {
		if j.Versions[i].Number == number {
			return &j.Versions[i]
		}
	}
	return nil
}

// latest is the version that is wanted.
func (j *Job) latest() *Version { return &j.Versions[len(j.Versions)-1] }

// newGroups returns the instances of a run of a version, none launched.
func newGroups(r *run, v *Version) []*group {
	if len(v.Job.Steps) == 0 {
		return []*group{newGroup(r, 0, "", &v.Job.Work)}
	}
	var out []*group
	byName := map[string]*group{}
	for i := range v.Job.Steps {
		st := &v.Job.Steps[i]
		g := newGroup(r, i, st.Name, &st.Work)
		byName[st.Name] = g
		out = append(out, g)
	}
	for i, g := range out {
		for _, name := range v.Job.Steps[i].After {
			g.after = append(g.after, byName[name])
		}
	}
	return out
}

func newGroup(r *run, number int, step string, w *spec.Work) *group {
	g := &group{run: r, number: number, step: step, work: w, instances: make([]Instance, w.Instances())}
	for i := range g.instances {
		g.instances[i].Attempt = r.job.Launches
	}
	return g
}
