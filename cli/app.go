package cli

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// Version of this build; only the linker sets another one.
var Version = "0.1.0"

// The headings of the list of commands, which stand in the order of the alphabet.
const (
	startGroup   = "Begin"
	workGroup    = "Do work"
	lookGroup    = "Look"
	operateGroup = "Operate"
	otherGroup   = "Other"
)

func newApp(in io.Reader, out, errOut io.Writer) *cli.App {
	a := &cli.App{
		Name:  "ringmaster",
		Usage: "one cluster out of many machines, and fair shares of it for every framework",
		Description: "A first minute:\n" +
			"  ringmaster dev                          # a cluster on this machine\n" +
			"  ringmaster run -- echo hello            # a task on it, from another terminal",
		Reader: in, Writer: out, ErrWriter: errOut,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              wrongUsage,
		Commands: []*cli.Command{
			devCommand(), masterCommand(), agentCommand(), jobsCommand(),
			runCommand(), jobCommand(), killCommand(), logsCommand(), execCommand(), filesCommand(),
			statusCommand(), mastersCommand(), agentsCommand(), frameworksCommand(), tasksCommand(),
			offersCommand(), ringsCommand(), rolesCommand(), explainCommand(), eventsCommand(), topCommand(),
			roleCommand(), drainCommand(), undrainCommand(), removeCommand(), teardownCommand(),
			leaderCommand(), snapshotCommand(), tokenCommand(),
			benchCommand(), simulateCommand(), systemdCommand(), completionCommand(), completeCommand(), referenceCommand(), versionCommand(),
		},
	}
	for _, c := range a.Commands {
		prepare(c)
	}
	return a
}

// prepare gives every command the same manners.
func prepare(c *cli.Command) {
	c.HideHelpCommand = true
	c.OnUsageError = wrongUsage
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
}

func wrongUsage(c *cli.Context, err error, _ bool) error {
	if c.Command != nil && c.Command.HelpName != "" {
		return usagef("%v; see %s --help", err, c.Command.HelpName)
	}
	return usagef("%v; see ringmaster --help", err)
}

// examples is the description of a command: what to type.
func examples(lines ...string) string {
	text := "Examples:"
	for _, l := range lines {
		text += "\n  " + l
	}
	return text
}

// wantArgs refuses any other number of arguments than from least to most;
// most < 0 is no limit.
func wantArgs(c *cli.Context, least, most int) error {
	n := c.Args().Len()
	switch {
	case n < least:
		return usagef("%s needs %s; see %s --help", c.Command.HelpName, c.Command.ArgsUsage, c.Command.HelpName)
	case most >= 0 && n > most:
		return usagef("%s: %q is one argument too many; see %s --help", c.Command.HelpName, c.Args().Get(most), c.Command.HelpName)
	}
	return nil
}

// wantWord refuses an argument that is there and empty, as that of a variable
// which is not set.
func wantWord(c *cli.Context) error {
	if c.Args().Present() && c.Args().First() == "" {
		return usagef("%s: %s is empty; see %s --help", c.Command.HelpName, strings.Trim(c.Command.ArgsUsage, "[]"), c.Command.HelpName)
	}
	return nil
}

// aboutOne is the action of a command that asks the masters about its one
// argument.
func aboutOne(do func(c *cli.Context, cl *client, name string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if err := wantArgs(c, 1, 1); err != nil {
			return err
		}
		cl, err := newClient(c)
		if err != nil {
			return err
		}
		return do(c, cl, c.Args().First())
	}
}
