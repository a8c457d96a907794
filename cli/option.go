package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/urfave/cli/v2"
)

// option is one setting of a daemon under its one name: a key of the file
// (a dot enters a section), the flag of the same name with dashes, and the
// variable RINGMASTER_ with underscores. Exactly one of the setters is there.
type option struct {
	name     string
	flag     string // where it is not the name with dashes
	usage    string
	shown    string // the default, as help shows it
	boolean  func(*settings, bool) error
	text     func(*settings, string) error
	list     func(*settings, []string) error
	pairs    func(*settings, map[string]string) error
	rings    func(*settings, ast.Node) error
	fileOnly bool // a key without a flag
}

func (o *option) flagName() string {
	if o.flag != "" {
		return o.flag
	}
	return strings.NewReplacer("_", "-", ".", "-").Replace(o.name)
}

func (o *option) variable() string {
	return "RINGMASTER_" + strings.ToUpper(strings.ReplaceAll(o.flagName(), "-", "_"))
}

// asFlag returns the flag; its value is read by [configure], so that flag,
// variable and file mean the same.
func (o *option) asFlag() cli.Flag {
	if o.boolean != nil {
		return &cli.BoolFlag{Name: o.flagName(), Usage: o.usage, EnvVars: []string{o.variable()}, DefaultText: o.shown}
	}
	return &cli.StringFlag{Name: o.flagName(), Usage: o.usage, EnvVars: []string{o.variable()}, DefaultText: o.shown}
}

// fromText sets the option from a flag or a variable.
func (o *option) fromText(s *settings, text string) error {
	switch {
	case o.boolean != nil:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		return o.boolean(s, b)
	case o.text != nil:
		return o.text(s, text)
	case o.list != nil:
		return o.list(s, fields(text))
	case o.pairs != nil:
		m, err := pairsOf(text)
		if err != nil {
			return err
		}
		return o.pairs(s, m)
	default:
		node, err := parseYAML([]byte(text))
		if err != nil {
			return err
		}
		return o.rings(s, node)
	}
}

// fields splits at commas and drops what is empty.
func fields(text string) []string {
	var out []string
	for f := range strings.SplitSeq(text, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// pairsOf reads "a=1,b=2"; a single word without "=" gets the empty key.
func pairsOf(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range fields(text) {
		k, v, ok := strings.Cut(f, "=")
		if !ok {
			k, v = "", f
		}
		if _, twice := out[k]; twice {
			return nil, fmt.Errorf("%q is given twice", k)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}

// configure lays the file, then variables, then flags over defaults.
func configure(c *cli.Context, defaults *settings, opts []option) (*settings, error) {
	s := defaults
	if path := c.String("config"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		if err := readFile(s, opts, text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for i := range opts {
		o := &opts[i]
		if o.fileOnly || !c.IsSet(o.flagName()) {
			continue
		}
		text := c.String(o.flagName())
		if v, ok := os.LookupEnv(o.variable()); ok && v == "" && text == "" {
			continue // an empty variable says nothing
		}
		if o.boolean != nil {
			text = strconv.FormatBool(c.Bool(o.flagName()))
		}
		if err := o.fromText(s, text); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", o.source(text), err)}
		}
	}
	return s, nil
}

// source says where a wrong value came from.
func (o *option) source(text string) string {
	if v, ok := os.LookupEnv(o.variable()); ok && v == text {
		return o.variable()
	}
	return "--" + o.flagName()
}

// daemonFlags are the flags of a command with these options.
func daemonFlags(opts []option) []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{Name: "config", Usage: "YAML `FILE` with the same names; flags and variables win over it", EnvVars: []string{"RINGMASTER_CONFIG"}}}
	for i := range opts {
		if !opts[i].fileOnly {
			flags = append(flags, opts[i].asFlag())
		}
	}
	return flags
}
