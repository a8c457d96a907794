package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers/spell"
)

// maxSteps bounds the steps of a job.
const maxSteps = 50

// validateSteps refuses steps that could not follow each other.
func (j *Job) validateSteps() error {
	if len(j.Steps) > maxSteps {
		return &Error{Path: "steps", Message: fmt.Sprintf("%d steps; at most %d", len(j.Steps), maxSteps)}
	}
	if j.Kind() == Service {
		return &Error{Path: "steps", Message: "a service has no steps; each of them would be a service of its own"}
	}
	if field := j.Work.given(); field != "" {
		return &Error{Path: field, Message: "each step has its own; it can't stand beside steps"}
	}
	var names []string
	for i := range j.Steps {
		name := j.Steps[i].Name
		at := fmt.Sprintf("steps[%d].name", i)
		switch {
		case name == "":
			return &Error{Path: at, Message: "it is missing"}
		case ValidName(name) != nil || len(name) > 32:
			return &Error{Path: at, Message: fmt.Sprintf("%.80q is not a name: letters, digits, - and _, at most 32", name)}
		case slices.Contains(names, name):
			return &Error{Path: at, Message: fmt.Sprintf("there are two steps %s", name)}
		}
		names = append(names, name)
	}
	for i := range j.Steps {
		for n, after := range j.Steps[i].After {
			if !slices.Contains(names, after) {
				return &Error{Path: fmt.Sprintf("steps[%d].after[%d]", i, n), Message: missingStep(after, names)}
			}
		}
	}
	return j.acyclic()
}

func missingStep(name string, names []string) string {
	if meant := spell.Nearest(name, names); meant != "" {
		return fmt.Sprintf("there is no step %.60q; did you mean %s?", name, meant)
	}
	return fmt.Sprintf("there is no step %.60q", name)
}

// acyclic refuses steps that wait for each other.
func (j *Job) acyclic() error {
	done := map[string]bool{}
	for range j.Steps {
		for _, st := range j.Steps {
			if !slices.ContainsFunc(st.After, func(a string) bool { return !done[a] }) {
				done[st.Name] = true
			}
		}
	}
	for i, st := range j.Steps {
		if !done[st.Name] {
			return &Error{Path: fmt.Sprintf("steps[%d].after", i), Message: fmt.Sprintf("step %s waits for itself, by way of %s", st.Name, strings.Join(st.After, ", "))}
		}
	}
	return nil
}

// given returns the first field of the work that says something, "" for none.
func (w *Work) given() string {
	v := reflect.ValueOf(w).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if !v.FieldByIndex(f.Index).IsZero() {
			return f.Name
		}
	}
	return ""
}
