package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/agent"
	"github.com/ringmaster-project/ringmaster/master"
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers/meter"
)

func referenceCommand() *cli.Command {
	return &cli.Command{
		Name: "reference", Category: otherGroup, Usage: "every command, flag, setting, metric, event and route, as Markdown",
		Description: examples("ringmaster reference > REFERENCE.md", "ringmaster reference | grep pending"),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			r := &reference{}
			r.printf("# Reference\n\nPrinted by `ringmaster reference`; `make reference` writes it anew.\n")
			r.commands(c.App)
			r.settings()
			r.metrics()
			r.events()
			if err := r.routes(master.OpenAPI()); err != nil {
				return err
			}
			_, err := c.App.Writer.Write(r.text.Bytes())
			return err
		},
	}
}

// reference is what was written of it so far.
type reference struct{ text bytes.Buffer }

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

// table begins a table with these columns.
func (r *reference) table(columns ...string) {
	r.printf("\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func (r *reference) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
	}
	r.printf("| %s |\n", strings.Join(cells, " | "))
}

func code(words ...string) string {
	for i, w := range words {
		words[i] = "`" + w + "`"
	}
	return strings.Join(words, ", ")
}

// placeholder is the name of a flag's value in its usage, between backquotes.
var placeholder = regexp.MustCompile("`([^`]*)`")

// flagRow is a flag, its meaning and its default.
func flagRow(f cli.Flag) [3]string {
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashes(n))
	}
	said := f.(cli.DocGenerationFlag)
	usage, value := said.GetUsage(), ""
	if m := placeholder.FindStringSubmatch(usage); m != nil {
		value = m[1]
	}
	name := code(names...)
	if value != "" {
		name = strings.TrimSuffix(name, "`") + " " + value + "`"
	}
	shown := said.GetDefaultText()
	if _, boolean := f.(*cli.BoolFlag); boolean && shown == "false" {
		shown = ""
	}
	return [3]string{name, placeholder.ReplaceAllString(usage, "$1"), strings.Trim(shown, `"`)}
}

// commands tells of all but the daemons' settings and what every client has.
func (r *reference) commands(a *cli.App) {
	shared := map[[3]string]bool{}
	for _, f := range clientFlags() {
		shared[flagRow(f)] = true
	}
	r.printf("\n## Commands\n\nA command that speaks to masters takes these flags, or their variables:\n")
	r.table("flag", "variable", "means", "default")
	for _, f := range clientFlags() {
		row := flagRow(f)
		r.row(row[0], code(f.(cli.DocGenerationFlag).GetEnvVars()...), row[1], row[2])
	}
	for _, c := range a.Commands {
		r.command(c, a.Name, shared)
	}
}

func (r *reference) command(c *cli.Command, path string, shared map[[3]string]bool) {
	if c.Hidden {
		return
	}
	path += " " + c.Name
	r.printf("\n### %s\n\n%s%s.\n", path, strings.ToUpper(c.Usage[:1]), c.Usage[1:])
	if c.ArgsUsage != "" {
		r.printf("\nArguments: %s\n", code(c.ArgsUsage))
	}
	flags := c.Flags
	if options := daemonOptions[path]; options != nil {
		r.printf("\nIts settings are [below](#settings).\n")
		flags = slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool {
			return slices.ContainsFunc(options(), func(o option) bool { return slices.Contains(f.Names(), o.flagName()) })
		})
	}
	r.flags(flags, shared)
	if _, lines, ok := strings.Cut(c.Description, "Examples:\n"); ok {
		lines, _, _ = strings.Cut(lines, "\n\n")
		r.printf("\n```\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(lines, "  "), "\n  ", "\n"))
	}
	for _, sub := range c.Subcommands {
		r.command(sub, path, shared)
	}
}

func (r *reference) flags(flags []cli.Flag, shared map[[3]string]bool) {
	own := slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return shared[flagRow(f)] })
	if len(own) > 0 {
		r.table("flag", "means", "default")
	}
	for _, f := range own {
		row := flagRow(f)
		r.row(row[:]...)
	}
	if len(own) < len(flags) {
		r.printf("\nIt speaks to masters.\n")
	}
}

// daemonOptions are the settings of each daemon, by its command.
var daemonOptions = map[string]func() []option{
	"ringmaster master": masterOptions, "ringmaster agent": agentOptions, "ringmaster jobs": jobsOptions, "ringmaster dev": devOptions,
}

// setting is an option with the daemons that have it.
type setting struct {
	option
	of     []string
	shown  []string // the defaults, in the order of of
	common bool     // all of them are one
}

// settings tells of each option of the daemons once.
func (r *reference) settings() {
	r.printf("\n## Settings\n\nOf the daemons, each as a flag, as a key of the YAML file that `--config` names (a dot enters a section), and as a variable. " +
		"Flags win over variables, and those over the file.\n")
	r.table("flag", "key", "variable", "of", "means", "default")
	for _, s := range allSettings() {
		shown := s.shown[0]
		if !s.common {
			var parts []string
			for i, of := range s.of {
				parts = append(parts, of+": "+s.shown[i])
			}
			shown = strings.Join(parts, "; ")
		}
		row := flagRow(s.asFlag())
		r.row(row[0], code(s.name), code(s.variable()), strings.Join(s.of, ", "), row[1], shown)
	}
	r.printf("\nVariables that are no settings:\n")
	r.table("variable", "of", "means")
	for _, v := range otherVariables {
		r.row(code(strings.Split(v[0], ", ")...), v[1], v[2])
	}
}

// otherVariables are those that are no settings.
var otherVariables = [][3]string{
	{"OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "daemons", "URL of a collector, as --otlp-endpoint, which wins"},
	{"OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY", "daemons", "how to speak to it"},
	{"OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG", "daemons", "which traces that begin here are kept: parentbased_always_on unless it is set"},
	{"OTEL_BSP_MAX_QUEUE_SIZE, _MAX_EXPORT_BATCH_SIZE, _SCHEDULE_DELAY, _EXPORT_TIMEOUT", "daemons", "spans that wait for the collector at most (2048), and in what portions they go"},
	{"OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES", "daemons", "what the spans say of who sent them; the service is ringmaster-master, -agent or -jobs unless it is set"},
	{"OTEL_SDK_DISABLED=true, OTEL_TRACES_EXPORTER=none", "daemons", "no traces, whatever else is set"},
	{"TRACEPARENT", "run", "the span that its tasks are part of; every traced task has its own in this variable"},
	{"NO_COLOR", "all", "no colour on a terminal"},
	{"NOTIFY_SOCKET", "daemons", "where systemd listens"},
}

func allSettings() (all []*setting) {
	for _, daemon := range []string{"master", "agent", "jobs", "dev"} {
		for _, o := range daemonOptions["ringmaster "+daemon]() {
			at := slices.IndexFunc(all, func(s *setting) bool { return s.name == o.name })
			if at < 0 {
				at = len(all)
				all = append(all, &setting{option: o, common: true})
			}
			s := all[at]
			s.of, s.shown = append(s.of, daemon), append(s.shown, o.shown)
			s.common = s.common && o.shown == s.shown[0]
		}
	}
	return all
}

func (r *reference) metrics() {
	r.printf("\n## Metrics\n\nAt `GET /metrics` of a master, beside `go_...` and `process_...` of every Go process. What counts the cluster only the leader has.\n")
	r.meters(master.Metrics())
	r.printf("\nAt `GET /metrics` of an agent:\n")
	r.meters(agent.Metrics())
}

func (r *reference) meters(list []meter.Metric) {
	r.table("metric", "kind", "labels", "means")
	for _, m := range list {
		r.row(code(m.Name), string(m.Kind), code(slices.Clone(m.Labels)...), m.Help)
	}
}

func (r *reference) events() {
	r.printf("\n## Events\n\nAt `GET /v1/events`, and by `ringmaster events`. Each has `id` and `type`, and `time` where that was noted. " +
		"Durable ones every master has; the others are what a leader saw, and go with it.\n")
	r.table("type", "durable", "means", "fields")
	for _, d := range events.Described {
		r.row(code(string(d.Type)), map[bool]string{true: "yes"}[d.Durable], d.Means, code(slices.Clone(d.Fields)...))
	}
}

// routes lists the paths of an OpenAPI document in their order there.
func (r *reference) routes(text []byte) error {
	var api struct {
		Paths ordered[ordered[struct {
			Summary    string `json:"summary"`
			Parameters []struct {
				Ref  string `json:"$ref"`
				Name string `json:"name"`
			} `json:"parameters"`
		}]] `json:"paths"`
	}
	if err := json.Unmarshal(text, &api); err != nil {
		return fmt.Errorf("the description of the HTTP interface can't be read: %w", err)
	}
	r.printf("\n## Routes\n\nOf a master's HTTP interface; `GET /v1/openapi.json` has the whole description.\n")
	r.table("route", "does", "parameters")
	for _, path := range api.Paths {
		for _, method := range path.value {
			var names []string
			for _, p := range method.value.Parameters {
				names = append(names, p.Name+p.Ref[strings.LastIndex(p.Ref, "/")+1:])
			}
			r.row(code(strings.ToUpper(method.key)+" "+path.key), method.value.Summary, code(names...))
		}
	}
	return nil
}

// ordered is a JSON object whose keys keep their order.
type ordered[T any] []struct {
	key   string
	value T
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		*o = append(*o, struct {
			key   string
			value T
		}{key: fmt.Sprint(key)})
		if err := d.Decode(&(*o)[len(*o)-1].value); err != nil {
			return err
		}
	}
	return nil
}
