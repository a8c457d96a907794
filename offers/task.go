package offers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Task is one piece of work, as the framework describes it.
type Task struct {
	ID         TaskID            `json:"id"`
	Name       string            `json:"name,omitempty"`
	Resources  Resources         `json:"resources"`
	Command    *Command          `json:"command,omitempty"`
	Container  *Container        `json:"container,omitempty"` // nil: a process of the host
	Artifacts  []Artifact        `json:"artifacts,omitempty"`
	Health     *Health           `json:"health,omitempty"`
	KillGrace  Duration          `json:"kill_grace,omitempty"`  // from SIGTERM to SIGKILL; 0 means DefaultKillGrace
	MaxRuntime Duration          `json:"max_runtime,omitempty"` // 0 means no limit
	Labels     map[string]string `json:"labels,omitempty"`
	// Traceparent is the span that the task's way is part of; where it is "" a
	// master that traces begins a trace.
	Traceparent Traceparent `json:"traceparent,omitempty"`
}

// DefaultKillGrace is how long a task has between SIGTERM and SIGKILL.
const DefaultKillGrace = Duration(5 * time.Second)

// Command is what a task runs: Argv as it is, or Shell through /bin/sh -c.
type Command struct {
	Argv  []string          `json:"argv,omitempty"`
	Shell string            `json:"shell,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	User  string            `json:"user,omitempty"`
	Dir   string            `json:"dir,omitempty"` // relative to the sandbox
}

// UnmarshalJSON reads a task; [Task.Validate] is still to be asked. The error
// names the field, and beside it the task has its id where that could be
// read, so that the refusal can be addressed.
func (t *Task) UnmarshalJSON(data []byte) error {
	type plain Task
	var in plain
	err := json.Unmarshal(data, &in)
	if err == nil {
		*t = Task(in)
		return nil
	}
	err = Explain(data, func() any { return new(plain) }, err)
	var named struct{ ID TaskID }
	if json.Unmarshal(data, &named) != nil || named.ID == "" {
		return err
	}
	*t = Task{ID: named.ID}
	return fmt.Errorf("task %s: %w", clip(string(t.ID)), err)
}

// Validate refuses ids outside [A-Za-z0-9._-]{1,128}, "." and "..".
func (id TaskID) Validate() error {
	if !wordy(string(id), 128) || id == "." || id == ".." {
		return fmt.Errorf("task id %q: 1 to 128 of A-Z a-z 0-9 . _ -, and neither . nor .. alone", clip(string(id)))
	}
	return nil
}

// Validate refuses tasks that no agent could run and names the field.
func (t *Task) Validate() error {
	if err := t.ID.Validate(); err != nil {
		return err
	}
	if err := t.Resources.Validate(); err != nil {
		return fmt.Errorf("task %s: resources: %w", t.ID, err)
	}
	if n := t.Resources.AnyPorts; n > 0 {
		return fmt.Errorf("task %s: resources.ports is %d; a demand asks for a number of ports, and a task names those of its offer that it takes", t.ID, n)
	}
	if t.Health != nil {
		if err := t.Health.validate(t.Resources.Ports); err != nil {
			return fmt.Errorf("task %s: health%w", t.ID, err)
		}
	}
	if err := validArtifacts(t.Artifacts); err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	if err := t.validateWork(); err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	if err := t.Traceparent.Validate(); err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	if len(t.Name) > 256 || !Printable(t.Name) {
		return fmt.Errorf("task %s: name is not printable or longer than 256 bytes", t.ID)
	}
	return nil
}

// validateWork refuses a task that says nothing to run, or that twice.
func (t *Task) validateWork() error {
	if t.Container != nil {
		if err := t.Container.validate(t); err != nil {
			return fmt.Errorf("container.%w", err)
		}
	}
	if t.Command == nil {
		if t.Container != nil {
			return nil // its image says what it runs
		}
		return fmt.Errorf("command is missing")
	}
	if t.Container == nil && len(t.Command.Argv) == 0 && t.Command.Shell == "" {
		return fmt.Errorf("command.argv or command.shell is missing")
	}
	if err := t.Command.validate(); err != nil {
		return fmt.Errorf("command.%w", err)
	}
	return nil
}

func (c *Command) validate() error {
	switch {
	case len(c.Argv) > 0 && c.Shell != "":
		return fmt.Errorf("argv and command.shell are both given; one of them runs")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return fmt.Errorf("argv: the program's name is empty")
	case strings.ContainsRune(c.Shell, 0) || strings.ContainsRune(c.Dir, 0) || strings.ContainsRune(strings.Join(c.Argv, ""), 0):
		return fmt.Errorf("argv, shell and dir can't hold a zero byte")
	}
	for k, v := range c.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			return fmt.Errorf("env: %q can't be the name of a variable, or its value holds a zero byte", clip(k))
		}
	}
	return nil
}

// Args returns the program and its arguments.
func (c *Command) Args() []string {
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", c.Shell}
	}
	return c.Argv
}

// Printable reports whether s is valid text without control characters.
func Printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) < 0
}
