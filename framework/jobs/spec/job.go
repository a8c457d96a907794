package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Type says what kind of a life a job has.
type Type string

// The types of jobs.
const (
	Batch   Type = "batch"   // runs to its end
	Service Type = "service" // runs until it is stopped
	Cron    Type = "cron"    // a batch that runs again and again
)

// Job is one job. The fields of Work stand beside its name where it is one
// step; a batch of several has them in its Steps.
type Job struct {
	Name string `json:"name" doc:"unique in the cluster: letters, digits, - and _, at most 63"`
	Type Type   `json:"type,omitempty" doc:"batch runs to its end, service until it is stopped, cron is a batch that runs again and again" enum:"batch,service,cron" default:"batch"`
	Cron *Timer `json:"cron,omitempty" doc:"when a job of the type cron runs"`
	Work
	Steps []Step `json:"steps,omitempty" doc:"the parts of a batch, each with a command of its own, in place of one command"`
}

// Step is a part of a batch.
type Step struct {
	Name  string   `json:"name" doc:"unique in the job: letters, digits, - and _, at most 32"`
	After []string `json:"after,omitempty" doc:"steps that have to be complete before"`
	Work
}

// Part returns the work of a step, that of the job itself for "".
func (j *Job) Part(step string) *Work {
	for i := range j.Steps {
		if j.Steps[i].Name == step {
			return &j.Steps[i].Work
		}
	}
	return &j.Work
}

// Work is what to run, how often, and on what.
type Work struct {
	Command      Command             `json:"command,omitzero" doc:"a list is the program and its arguments, which may hold templates such as {{index}}; a text is run by /bin/sh"`
	Count        int                 `json:"count,omitempty" doc:"how many instances" default:"1"`
	Gang         offers.Duration     `json:"gang,omitempty" doc:"all instances of a batch start at once or none does, and when one fails all run again; so long their places are held for them to be taken" default:"each starts for itself"`
	Each         *Each               `json:"each,omitempty" doc:"one instance for each item, which it sees as {{item}} and RINGMASTER_ITEM"`
	Parallelism  int                 `json:"parallelism,omitempty" doc:"how many instances of a batch run at once" default:"all"`
	Retries      int                 `json:"retries,omitempty" doc:"how often an instance of a batch that failed runs again, with gang all of them" default:"0"`
	Backoff      Backoff             `json:"backoff,omitzero" doc:"the pause before an instance that failed runs again"`
	Restart      Restart             `json:"restart,omitempty" doc:"when an instance of a service runs again after it ended" enum:"always,on_failure,never" default:"always"`
	Update       Update              `json:"update,omitzero" doc:"how instances of a service are replaced by those of a new version"`
	ReplaceAfter offers.Duration     `json:"replace_after,omitempty" doc:"how long an agent may be away before its instances run elsewhere too; the old ones are killed when it comes back" default:"until the masters give the agent up"`
	Container    *offers.Container   `json:"container,omitempty" doc:"the image it runs in, and how; only agents with docker==true are chosen, and a command may be left to the image" default:"it is a process of its host"`
	Env          map[string]string   `json:"env,omitempty" doc:"variables; their values may hold {{index}}, {{item}}, {{count}}, {{attempt}}, {{job}}, {{run}}, {{agent}}, {{agent.id}}, {{agent.host}}, {{agent.address}}, {{port}}, {{port.1}}, {{port.NAME}}; {{{{ is {{"`
	User         string              `json:"user,omitempty" doc:"who it runs as" default:"who the agent runs as"`
	Dir          string              `json:"dir,omitempty" doc:"working folder below the sandbox"`
	Resources    Resources           `json:"resources,omitzero" doc:"what each instance gets, and its limits" default:"cpus: 1, mem: 128MiB"`
	Constraints  []offers.Constraint `json:"constraints,omitempty" doc:"conditions on the agent, such as rack==r1 or host~web.*, and limits, such as distinct agent or at most 2 per rack"`
	Preferences  []offers.Preference `json:"preferences,omitempty" doc:"conditions that are wished for and not required, with a weight each"`
	Placement    offers.Placement    `json:"placement,omitempty" doc:"strategy that chooses the agent" default:"the role's"`
	DevicePolicy offers.Policy       `json:"device_policy,omitempty" doc:"which of the fitting devices are taken" enum:"spread,pack" default:"the agent's"`
	Deadline     offers.Duration     `json:"deadline,omitempty" doc:"by when the placement match wants a batch done, from the beginning of its run" default:"none"`
	Runtime      offers.Duration     `json:"runtime,omitempty" doc:"how long an instance of a batch is expected to run, for match" default:"unknown"`
	Price        float64             `json:"price,omitempty" doc:"what is paid for each instance, for match" default:"0"`
	Artifacts    []offers.Artifact   `json:"artifacts,omitempty" doc:"files that are fetched into the sandbox first"`
	Health       *offers.Health      `json:"health,omitempty" doc:"how to find out whether an instance is well"`
	KillGrace    offers.Duration     `json:"kill_grace,omitempty" doc:"from SIGTERM to SIGKILL" default:"5s"`
	MaxRuntime   offers.Duration     `json:"max_runtime,omitempty" doc:"after which an instance has failed" default:"none"`
	Labels       map[string]string   `json:"labels,omitempty" doc:"shown with the tasks"`
}

// Backoff is the pause before an instance runs again: First after the first
// failure in a row, twice as long after each one more, at most Most.
type Backoff struct {
	First offers.Duration `json:"first,omitempty" doc:"after the first failure; it doubles with each one more" default:"1s"`
	Most  offers.Duration `json:"most,omitempty" doc:"the longest pause" default:"5m"`
}

// Restart says when an instance of a service that ended runs again.
type Restart string

// The restart policies of a service.
const (
	Always    Restart = "always"
	OnFailure Restart = "on_failure"
	Never     Restart = "never"
)

// Update says how the instances of a service are replaced.
type Update struct {
	MaxUnavailable int             `json:"max_unavailable,omitempty" doc:"how many instances may be missing at once" default:"1"`
	HealthyFor     offers.Duration `json:"healthy_for,omitempty" doc:"how long an instance has to run well before the next is replaced" default:"5s"`
	MaxFailures    int             `json:"max_failures,omitempty" doc:"how many instances of the new version may fail before it is given up" default:"3"`
	Deadline       offers.Duration `json:"deadline,omitempty" doc:"after which a new version that is not everywhere is given up" default:"10m"`
	OnFailure      string          `json:"on_failure,omitempty" doc:"whether a version that is given up is rolled back to the last that was well everywhere, or left as it is" enum:"rollback,pause" default:"rollback"`
}

// Unavailable returns how many instances may be missing at once.
func (u Update) Unavailable() int { return cmp.Or(u.MaxUnavailable, 1) }

// Healthy returns how long an instance has to run well.
func (u Update) Healthy() time.Duration { return cmp.Or(u.HealthyFor, offers.Duration(5e9)).Std() }

// Failures returns how many instances of a new version may fail.
func (u Update) Failures() int { return cmp.Or(u.MaxFailures, 3) }

// Patience returns how long a new version may take.
func (u Update) Patience() time.Duration { return cmp.Or(u.Deadline, offers.Duration(600e9)).Std() }

// Command is a program with its arguments, or a text for the shell.
type Command struct {
	Argv  []string
	Shell string
}

// MarshalJSON writes a list or a text.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Shell != "" {
		return json.Marshal(c.Shell)
	}
	return json.Marshal(c.Argv)
}

// UnmarshalJSON reads a list or a text.
func (c *Command) UnmarshalJSON(data []byte) error {
	*c = Command{}
	if json.Unmarshal(data, &c.Shell) == nil {
		return nil
	}
	if json.Unmarshal(data, &c.Argv) != nil {
		return errors.New("a list of a program and its arguments is needed, or a text for the shell")
	}
	return nil
}

// Text returns the command as one line for people.
func (c Command) Text() string {
	if c.Shell != "" {
		return c.Shell
	}
	return strings.Join(c.Argv, " ")
}

// Each is the items of an array: given, the lines of a file, or the files that
// a pattern matches. [Parse] turns the latter two into the first.
type Each struct {
	Items []string
	Lines string // a file; empty lines are left out
	Files string // a pattern such as data/*.csv
}

// MarshalJSON writes the items.
func (e Each) MarshalJSON() ([]byte, error) { return json.Marshal(e.Items) }

// UnmarshalJSON reads a list, or an object with lines or files.
func (e *Each) UnmarshalJSON(data []byte) error {
	*e = Each{}
	if json.Unmarshal(data, &e.Items) == nil {
		return nil
	}
	var from struct{ Lines, Files string }
	if json.Unmarshal(data, &from) != nil || (from.Lines == "") == (from.Files == "") {
		return errors.New("a list is needed, or one of {lines: FILE} and {files: PATTERN}")
	}
	e.Lines, e.Files = from.Lines, from.Files
	return nil
}

// Instances returns how many there are to be.
func (w *Work) Instances() int {
	if w.Each != nil {
		return len(w.Each.Items)
	}
	return max(w.Count, 1)
}

// Item returns what the instance is for, "" where there is no array.
func (w *Work) Item(index int) string {
	if w.Each == nil || index >= len(w.Each.Items) {
		return ""
	}
	return w.Each.Items[index]
}

// Asks returns the resources of one instance: those of the file, or one cpu
// and 128 MiB where it names none.
func (w *Work) Asks() offers.Resources {
	if !w.Resources.Zero() {
		return w.Resources.Resources
	}
	return offers.Resources{Amounts: offers.Amounts{offers.CPUs: 1000, offers.Mem: 128 << 20}}
}

// Wish returns what the jobs framework demands for n instances. Only agents
// with a container engine are asked for what runs in containers: any other
// would reject it.
func (w *Work) Wish(id offers.DemandID, n int) offers.Demand {
	conditions := w.Constraints
	if w.Container != nil {
		conditions = append(slices.Clip(conditions), offers.HasDocker())
	}
	return offers.Demand{
		ID: id, Resources: w.Asks(), Count: &n, Constraints: conditions,
		Preferences: w.Preferences, Placement: w.Placement, DevicePolicy: w.DevicePolicy,
		Gang: w.Gang, Deadline: w.Deadline, Runtime: w.Runtime, Price: w.Price,
	}
}

// Kind returns the job's type, a batch where it names none.
func (j *Job) Kind() Type {
	if j.Type == "" {
		return Batch
	}
	return j.Type
}
