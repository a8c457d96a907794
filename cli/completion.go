package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// The shells ask "ringmaster __complete WORDS..." for the candidates, so that
// what they know is never older than the binary.
var completionScripts = map[string]string{
	"bash": `_ringmaster() {
  local IFS=$'\n'
  COMPREPLY=($(ringmaster __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
complete -F _ringmaster ringmaster
`,
	"zsh": `#compdef ringmaster
_ringmaster() {
  local -a candidates
  candidates=(${(f)"$(ringmaster __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)"})
  if (( ${#candidates} )); then compadd -- "${candidates[@]}"; else _files; fi
}
compdef _ringmaster ringmaster
`,
	"fish": `function __ringmaster_complete
  set -l words (commandline -opc) (commandline -ct)
  ringmaster __complete $words[2..-1] 2>/dev/null
end
complete -c ringmaster -a '(__ringmaster_complete)'
`,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Category: otherGroup, Usage: "the completion script of a shell", ArgsUsage: "bash|zsh|fish",
		Description: examples(
			"source <(ringmaster completion bash)               # also in ~/.bashrc",
			"ringmaster completion zsh > \"${fpath[1]}/_ringmaster\"",
			"ringmaster completion fish > ~/.config/fish/completions/ringmaster.fish"),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			script, ok := completionScripts[c.Args().First()]
			if !ok {
				return usagef("ringmaster completion knows bash, zsh and fish, not %q", c.Args().First())
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// completeTimeout bounds how long a shell waits for live ids.
const completeTimeout = 2 * time.Second

func completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true, SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			for _, word := range candidates(c, c.Args().Slice()) {
				fmt.Fprintln(c.App.Writer, word)
			}
			return nil
		},
	}
}

// liveArguments is which list the argument of a command is completed from.
var liveArguments = map[string]string{
	"kill": "tasks", "exec": "tasks", "logs": "tasks", "files": "tasks", "tasks": "tasks",
	"agents": "agents", "drain": "agents", "undrain": "agents", "remove": "agents",
	"frameworks": "frameworks", "teardown": "frameworks",
	"masters remove": "masters", "leader transfer": "masters", "role set": "roles",
	"job status": "jobs", "job logs": "jobs", "job stop": "jobs", "job scale": "jobs", "job rollback": "jobs", "job history": "jobs",
}

// onlyHere are those that do nothing to what is gone.
var onlyHere = []string{"drain", "undrain", "remove"}

// liveValues is which list the value of a flag is completed from.
var liveValues = map[string]string{"--task": "tasks", "--agent": "agents", "--framework": "frameworks", "--role": "roles"}

// valuesOf returns what the value of a flag may become, if the word before the
// last is one whose values are known.
func valuesOf(c *cli.Context, cmd *cli.Command, words []string) (all []string, known bool) {
	if cmd == nil || len(words) < 2 {
		return nil, false
	}
	switch before := words[len(words)-2]; {
	case before == "--type" && cmd.Name == "events":
		for _, t := range events.Types {
			all = append(all, string(t))
		}
		return all, true
	case before == "--placement":
		for _, p := range offers.Placements() {
			all = append(all, string(p))
		}
		return all, true
	case before == "--view" && cmd.Name == "top":
		for _, v := range topViews {
			all = append(all, v.name)
		}
		return all, true
	case liveValues[before] != "":
		return liveIDs(c, liveValues[before], words, false), true
	}
	return nil, false
}

// candidates returns what the last of words may become.
func candidates(c *cli.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	commands := c.App.Commands
	var cmd *cli.Command
	var path []string
	for _, w := range words[:len(words)-1] {
		if next := commandNamed(commands, w); next != nil && (cmd == nil || len(cmd.Subcommands) > 0) {
			cmd, commands, path = next, next.Subcommands, append(path, next.Name)
		}
		if w == "--" {
			return nil
		}
	}
	all, value := valuesOf(c, cmd, words)
	switch {
	case value:
	case cmd == nil || len(cmd.Subcommands) > 0 && !strings.HasPrefix(last, "-"):
		all = names(commands)
	case strings.HasPrefix(last, "-"):
		for _, f := range cmd.Flags {
			all = append(all, "--"+f.Names()[0])
		}
	case cmd.Name == "completion":
		all = []string{"bash", "zsh", "fish"}
	case cmd.Name == "systemd":
		all = slices.Sorted(maps.Keys(unitUsers))
	default:
		name := strings.Join(path, " ")
		all = liveIDs(c, liveArguments[name], words, slices.Contains(onlyHere, name))
	}
	var out []string
	for _, w := range all {
		if strings.HasPrefix(w, last) {
			out = append(out, w)
		}
	}
	return out
}

// liveIDs asks the masters that the words name, or those of the environment,
// and is silent about failures: nobody reads them behind a half-typed line. With here
// agents that are gone are left out.
func liveIDs(c *cli.Context, list string, words []string, here bool) []string {
	if list == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Context, completeTimeout)
	defer cancel()
	cl, err := clientOf(c, words)
	if err != nil {
		return nil
	}
	things, err := cl.things(ctx, list)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range things {
		if here && t.gone() {
			continue
		}
		out = append(out, cmp.Or(t.ID, t.Name)) // a master has a name only
	}
	return out
}

// clientOf is the client of a half-typed line: its flags as far as they are
// there, and the environment.
func clientOf(c *cli.Context, words []string) (*client, error) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range clientFlags() {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	for i, w := range words {
		name, value, inline := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !strings.HasPrefix(w, "-") || set.Lookup(name) == nil {
			continue
		}
		if !inline && i+1 < len(words) {
			value = words[i+1]
		}
		if err := set.Set(name, value); err != nil {
			return nil, err
		}
	}
	return newClient(cli.NewContext(c.App, set, c))
}
