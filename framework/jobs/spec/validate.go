package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/spell"
)

var jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// ValidName refuses what can't be a job's name.
func ValidName(name string) error {
	if !jobName.MatchString(name) {
		return fmt.Errorf("%.80q is not a name: letters, digits, - and _, at most 63, the first no - or _", name)
	}
	return nil
}

// Validate refuses jobs that could not run as they are. The error is an
// [*Error] that names the field, without its place in a file.
func (j *Job) Validate() error {
	if j.Name == "" {
		return &Error{Path: "name", Message: "it is missing"}
	}
	if err := ValidName(j.Name); err != nil {
		return &Error{Path: "name", Message: err.Error()}
	}
	if err := oneOf("type", string(j.Type), "", string(Batch), string(Service), string(Cron)); err != nil {
		return err
	}
	if len(j.Steps) > 0 {
		if err := j.validateSteps(); err != nil {
			return err
		}
	}
	for _, w := range j.works() {
		if err := w.validate(); err != nil {
			return err
		}
		if err := j.fits(w); err != nil {
			return err
		}
	}
	return j.validateTimer()
}

// fits refuses what only another type of job has.
func (j *Job) fits(w place) error {
	service := j.Kind() == Service
	for _, f := range []struct {
		name  string
		given bool
		of    Type
	}{
		{"restart", !service && w.Restart != "", Service},
		{"update", !service && w.Update != (Update{}), Service},
		{"parallelism", service && w.Parallelism != 0, Batch},
		{"retries", service && w.Retries != 0, Batch},
		{"gang", service && w.Gang != 0, Batch},
		{"deadline", service && w.Deadline != 0, Batch},
		{"runtime", service && w.Runtime != 0, Batch},
	} {
		if f.given {
			return &Error{Path: w.path(f.name), Message: fmt.Sprintf("only a %s has it, and this is a %s", f.of, j.Kind())}
		}
	}
	u := w.Update
	switch {
	case u.MaxUnavailable < 0:
		return &Error{Path: "update.max_unavailable", Message: fmt.Sprintf("%d is less than 1", u.MaxUnavailable)}
	case u.MaxFailures < 0:
		return &Error{Path: "update.max_failures", Message: fmt.Sprintf("%d is less than 1", u.MaxFailures)}
	}
	if err := oneOf("restart", string(w.Restart), "", string(Always), string(OnFailure), string(Never)); err != nil {
		return err
	}
	return oneOf("update.on_failure", u.OnFailure, "", "rollback", "pause")
}

func oneOf(path, word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	known = slices.DeleteFunc(known, func(k string) bool { return k == "" })
	if meant := spell.Nearest(word, known); meant != "" {
		return &Error{Path: path, Message: fmt.Sprintf("%.60q is unknown; did you mean %s?", word, meant)}
	}
	return &Error{Path: path, Message: fmt.Sprintf("%.60q is unknown; it is %s", word, strings.Join(known, " or "))}
}

// place is a Work with where it stands.
type place struct {
	*Work
	at string
}

func (p place) path(field string) string { return join(p.at, field) }

func (j *Job) works() []place {
	if len(j.Steps) == 0 {
		return []place{{&j.Work, ""}}
	}
	out := make([]place, len(j.Steps))
	for i := range j.Steps {
		out[i] = place{&j.Steps[i].Work, fmt.Sprintf("steps[%d]", i)}
	}
	return out
}

func (p place) validate() error {
	fail := func(field, format string, args ...any) error {
		return &Error{Path: p.path(field), Message: fmt.Sprintf(format, args...)}
	}
	w := p.Work
	switch {
	case w.Container == nil && len(w.Command.Argv) == 0 && strings.TrimSpace(w.Command.Shell) == "":
		return fail("command", "it is missing")
	case w.Count < 0 || w.Count > MaxInstances:
		return fail("count", "%d is not from 1 to %d", w.Count, MaxInstances)
	case w.Count > 1 && w.Each != nil:
		return fail("count", "each says already how many instances there are")
	case w.Each != nil && len(w.Each.Items) > MaxInstances:
		return fail("each", "%d items; at most %d", len(w.Each.Items), MaxInstances)
	case w.Parallelism < 0:
		return fail("parallelism", "%d is less than 1", w.Parallelism)
	case w.Retries < 0 || w.Retries > 1000:
		return fail("retries", "%d is not from 0 to 1000", w.Retries)
	case w.Gang != 0 && w.Parallelism != 0 && w.Parallelism < w.Instances():
		return fail("parallelism", "%d of %d at once: a gang starts all its instances at once", w.Parallelism, w.Instances())
	case w.Backoff.Most != 0 && w.Backoff.Most < w.Backoff.first():
		return fail("backoff.most", "%s is shorter than the first pause, %s", w.Backoff.Most, w.Backoff.first())
	}
	if w.Each != nil {
		if err := w.Each.validate(); err != nil {
			return fail("each", "%s", err)
		}
	}
	if err := p.templates(); err != nil {
		return err
	}
	return p.task()
}

func (p place) templates() error {
	for i, arg := range p.Command.Argv {
		if err := p.checkTemplate(arg); err != nil {
			return &Error{Path: fmt.Sprintf("%s[%d]", p.path("command"), i), Message: err.Error()}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if err := p.checkTemplate(p.Env[name]); err != nil {
			return &Error{Path: p.path("env") + "." + name, Message: err.Error()}
		}
	}
	return nil
}

// task lets the vocabulary judge what it knows better: a task and a demand
// such as the job would send them. Their errors begin with the field, but for
// the command, whose variables stand beside it here.
func (p place) task() error {
	resources := p.Asks()
	if n := resources.AnyPorts; n > 0 { // for those that it will have
		resources.Ports, resources.AnyPorts = offers.MakePorts(offers.PortRange{First: 1, Last: uint16(n)}), 0
	}
	t := offers.Task{
		ID: "check", Resources: resources, Container: p.Container, Artifacts: p.Artifacts, Health: p.Health,
		KillGrace: p.KillGrace, MaxRuntime: p.MaxRuntime, Labels: p.Labels,
		Command: &offers.Command{Argv: p.Command.Argv, Shell: p.Command.Shell, Env: p.Env, User: p.User, Dir: p.Dir},
	}
	err := t.Validate()
	if err == nil {
		n := 1
		if p.Gang != 0 {
			n = p.Instances()
		}
		d := p.Wish("check", n)
		err = d.Validate()
	}
	if err == nil {
		return p.gangFits(&t)
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "task check: "), `demand "check": `)
	text = strings.NewReplacer("entrypoint and command.shell", "entrypoint and a command that is a text", "command.argv and command.shell", "argv and shell", "command.env:", "env:", "command.argv", "command").Replace(text)
	field, rest, found := strings.Cut(text, ": ")
	if !found || strings.ContainsAny(field, " ") {
		field, _, _ = strings.Cut(text, " ")
		rest = strings.TrimPrefix(text, "container.")
	}
	return &Error{Path: p.path(field), Message: rest}
}

// maxGang bounds what the tasks of a gang come to as JSON, all of which one
// accept launches where they land on one agent.
const maxGang = 3 << 20

// gangFits refuses a gang that one message could not launch. t is one of its
// tasks, without what each has beside.
func (p place) gangFits(t *offers.Task) error {
	if p.Gang == 0 {
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return &Error{Path: p.path("gang"), Message: err.Error()}
	}
	longest := 0
	for i := range p.Instances() {
		longest = max(longest, len(p.Item(i)))
	}
	if size := p.Instances() * (len(text) + 2*longest + 512); size > maxGang {
		return &Error{Path: p.path("gang"), Message: fmt.Sprintf("its %d tasks take up to %d bytes, and one message launches them: at most %d", p.Instances(), size, maxGang)}
	}
	return nil
}

func (b Backoff) first() offers.Duration {
	if b.First == 0 {
		return offers.Duration(1e9)
	}
	return b.First
}

// Pause returns how long to wait after so many failures in a row.
func (b Backoff) Pause(failures int) offers.Duration {
	most := b.Most
	if most == 0 {
		most = max(offers.Duration(300e9), b.first())
	}
	pause := b.first()
	for range failures - 1 {
		if pause *= 2; pause >= most {
			return most
		}
	}
	return min(pause, most)
}
