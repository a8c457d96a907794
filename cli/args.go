package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers/spell"
)

// arrange returns args with the flags of a command in front of its other
// arguments, so that "logs TASK -f" means what it says, and refuses commands
// and flags that don't exist with the one that was probably meant. Commands
// that run another one (dev, run) keep everything from the first argument on.
func arrange(a *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	out, rest := args[:1:1], args[1:]
	commands, path := a.Commands, "ringmaster"
	for {
		name := rest[0]
		if slices.Contains([]string{"help", "h", "--help", "-h"}, name) {
			return append(out, rest...), nil
		}
		c := commandNamed(commands, name)
		if c == nil {
			return nil, unknownCommand(path, name, commands)
		}
		out, rest, path = append(out, name), rest[1:], path+" "+name
		if len(c.Subcommands) == 0 {
			return arrangeFlags(c, path, out, rest)
		}
		if c.Action != nil && (len(rest) == 0 || commandNamed(c.Subcommands, rest[0]) == nil) {
			return arrangeFlags(c, path, out, rest)
		}
		if len(rest) == 0 {
			return nil, usagef("%s needs one of: %s", path, strings.Join(names(c.Subcommands), ", "))
		}
		commands = c.Subcommands
	}
}

func arrangeFlags(c *cli.Command, path string, out, rest []string) ([]string, error) {
	if c.SkipFlagParsing {
		return append(out, rest...), nil
	}
	var words []string
	for len(rest) > 0 {
		arg := rest[0]
		if arg == "--" {
			words = append(words, rest[1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' || isNumber(arg) {
			if runsAnother(path) || path == "ringmaster exec" && len(words) == 1 {
				words = append(words, rest...)
				break
			}
			words, rest = append(words, arg), rest[1:]
			continue
		}
		if isHelp(arg) { // it is no topic of the words before it
			return append(out, arg), nil
		}
		takes, err := flagTakes(c, path, arg)
		if err != nil {
			return nil, err
		}
		if takes && len(rest) == 1 {
			return nil, usagef("%s needs a value; see %s --help", arg, path)
		}
		n := 1
		if takes {
			n = 2
		}
		out, rest = append(out, rest[:n]...), rest[n:]
	}
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out, nil
}

// isNumber reports whether an argument is a number below 0, which no flag is: who
// reads it says what is wrong with it.
func isNumber(arg string) bool {
	_, err := strconv.Atoi(arg)
	return err == nil
}

func isHelp(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name == "help" || name == "h"
}

func runsAnother(path string) bool { return path == "ringmaster run" || path == "ringmaster dev" }

// flagTakes reports whether the next argument is the flag's value.
func flagTakes(c *cli.Command, path, arg string) (bool, error) {
	name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	var known []string
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			_, boolean := f.(*cli.BoolFlag)
			return !boolean && !inline, nil
		}
		known = append(known, f.Names()...)
	}
	if meant := spell.Nearest(name, known); meant != "" {
		return false, usagef("%s has no flag %s; did you mean %s?", path, arg, dashes(meant))
	}
	return false, usagef("%s has no flag %s; see %s --help", path, arg, path)
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func unknownCommand(path, name string, commands []*cli.Command) error {
	what := "command"
	if strings.HasPrefix(name, "-") {
		what = "flag"
	}
	if meant := spell.Nearest(name, names(commands)); meant != "" {
		return usagef("%s has no %s %q; did you mean %s?", path, what, name, meant)
	}
	return usagef("%s has no %s %q; see %s --help", path, what, name, path)
}

func names(commands []*cli.Command) []string {
	var out []string
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	return out
}
