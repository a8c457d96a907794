package cli

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Category: workGroup, Usage: "run a command on the cluster and show its output", ArgsUsage: "[--] ARGV...",
		Description: examples(
			"ringmaster run -- echo hello",
			"ringmaster run --cpus 2 --mem 1GiB --env LEVEL=9 -- sh -c 'gzip -$LEVEL < /etc/services | wc -c'",
			"ringmaster run --count 4 -- sh -c 'echo I am $RINGMASTER_TASK_ID'",
			"ringmaster run --image alpine:3 -- sh -c 'cat /etc/os-release'",
			"ringmaster run --gpu-mem 10GiB --constraint 'rack==r1' -- nvidia-smi") +
			"\n\nIt exits with the command's exit code (128+n for signal n; of several tasks, that of the first" +
			"\nthat failed). Ctrl-C kills it. With --detach it prints FRAMEWORK:TASK once it is launched and" +
			"\nleaves: the framework stays, without a connection, for a year or until ringmaster teardown." +
			"\nWhile there is no room it waits, and says for what; with --detach it gives up what no agent there\nis could ever take.",
		Flags: clientFlags(append(wishFlags("`ROLE` that it counts for"),
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the task", DefaultText: "the command's"},
			&cli.StringFlag{Name: "image", Usage: "`IMAGE` of a container that it runs in, with ARGV as its arguments; on agents with docker=true", DefaultText: "none"},
			&cli.StringFlag{Name: "pull", Usage: "`WHEN` the image is fetched: missing, always or never", Value: "missing"},
			&cli.StringFlag{Name: "network", Usage: "`NETWORK` of the container: bridge, host, none or a name", Value: "bridge"},
			&cli.StringFlag{Name: "entrypoint", Usage: "`PROGRAM` of the container", DefaultText: "the image's"},
			&cli.StringSliceFlag{Name: "env", Usage: "`K=V` for its environment, or K to pass ours on; repeatable"},
			&cli.StringFlag{Name: "user", Usage: "`USER` it runs as", DefaultText: "the agent's"},
			&cli.StringFlag{Name: "max-runtime", Usage: "`TIME` after which it is killed", DefaultText: "none"},
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "print the tasks' ids and leave them running"},
		)...),
		Action: func(c *cli.Context) error {
			j, err := readJob(c)
			if err != nil {
				return err
			}
			return j.run(c)
		},
	}
}

// job is what one run command asks for.
type job struct {
	name   string
	role   offers.Role
	count  int
	demand offers.Demand
	task   offers.Task // without an id
	detach bool
}

const maxRunCount = 10_000

func readJob(c *cli.Context) (*job, error) {
	least := 1
	if c.String("image") != "" {
		least = 0 // the image has a command
	}
	if err := wantArgs(c, least, -1); err != nil {
		return nil, err
	}
	j := &job{detach: c.Bool("detach"), name: c.String("name")}
	switch {
	case j.name == "":
		if j.name = filepath.Base(cmp.Or(c.Args().First(), imageName(c.String("image")))); !nameable(j.name) {
			return nil, usagef("the program's name can't be the task's, since it is not printable or longer than %d bytes: give another with --name", maxRunName)
		}
	case !nameable(j.name):
		return nil, usagef("--name is not printable or longer than %d bytes", maxRunName)
	}
	var err error
	if j.demand, j.role, err = readWish(c, "run"); err != nil {
		return nil, err
	}
	j.count = *j.demand.Count
	if j.task, err = readTask(c, j.name, j.demand.Resources); err != nil {
		return nil, usageError{err}
	}
	if j.task.Container != nil {
		// Another agent would reject it.
		j.demand.Constraints = append(j.demand.Constraints, offers.HasDocker())
	}
	return j, nil
}

// maxRunName leaves room for what a framework that runs a task puts in front of
// the task's name.
const maxRunName = 252

func nameable(name string) bool { return len(name) <= maxRunName && offers.Printable(name) }

func readTask(c *cli.Context, name string, r offers.Resources) (offers.Task, error) {
	t := offers.Task{Name: name, Resources: r, Command: &offers.Command{Argv: c.Args().Slice(), User: c.String("user")}}
	var err error
	if t.MaxRuntime, err = durationFlag(c, "max-runtime"); err != nil {
		return t, err
	}
	if parent := offers.Traceparent(os.Getenv("TRACEPARENT")); parent.Validate() == nil {
		t.Traceparent = parent // whoever traces this command sees its tasks
	}
	t.Command.Env = map[string]string{}
	for _, pair := range c.StringSlice("env") {
		k, v, given := strings.Cut(pair, "=")
		if !given {
			v = os.Getenv(k)
		}
		t.Command.Env[k] = v
	}
	if t.Container, err = readContainer(c); err != nil {
		return t, err
	}
	t.ID = "check"
	if err := t.Validate(); err != nil {
		return t, errors.New(strings.TrimPrefix(err.Error(), "task check: "))
	}
	return t, nil
}

// readContainer returns nil without --image, which the other flags go with.
func readContainer(c *cli.Context) (*offers.Container, error) {
	if c.String("image") == "" {
		for _, flag := range []string{"pull", "network", "entrypoint"} {
			if c.IsSet(flag) {
				return nil, fmt.Errorf("--%s goes with --image", flag)
			}
		}
		return nil, nil
	}
	container := &offers.Container{Image: c.String("image"), Pull: offers.Pull(c.String("pull")), Network: c.String("network")}
	if program := c.String("entrypoint"); program != "" {
		container.Entrypoint = []string{program}
	}
	return container, nil
}

// imageName is an image's name as people say it, without registry and tag.
func imageName(image string) string {
	name, _, _ := strings.Cut(filepath.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func readAmounts(c *cli.Context) (r offers.Resources, err error) {
	for flag, kind := range map[string]offers.Scalar{"cpus": offers.CPUs, "mem": offers.Mem, "disk": offers.Disk} {
		if c.String(flag) == "" {
			continue
		}
		text := c.String(flag)
		r.Amounts[kind], err = offers.ParseScalar(kind, text)
		if err == nil && kind != offers.CPUs {
			err = offers.WantUnit(text, r.Amounts[kind])
		}
		if err != nil {
			return r, fmt.Errorf("--%s: %w", flag, err)
		}
	}
	gpu, slice := c.String("gpu"), c.String("gpu-mem")
	if gpu == "" && slice == "" {
		return r, nil
	}
	ask := offers.DeviceAsk{Count: 1}
	if gpu != "" {
		if ask.Count, err = strconv.Atoi(gpu); err != nil || ask.Count < 0 || ask.Count > offers.MaxDevices {
			return r, fmt.Errorf("--gpu %s: it is a number of devices from 0 to %d", gpu, offers.MaxDevices)
		}
	}
	if slice != "" {
		ask.Memory, err = offers.ParseSize(slice)
		if err == nil {
			err = offers.WantUnit(slice, ask.Memory)
		}
		if err != nil {
			return r, fmt.Errorf("--gpu-mem: %w", err)
		}
		if ask.Memory == 0 {
			return r, errors.New("--gpu-mem: a slice has at least one byte")
		}
	}
	if ask.Count > 0 {
		r.Devices = map[string]offers.DeviceAsk{"gpu": ask}
	}
	return r, nil
}

// taskName returns the beginning that all ids of one run share: the name as
// far as an id may hold it, and four random digits so that people can tell
// runs of the same name apart.
func (j *job) taskName() string {
	word := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, j.name)
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails
	return strings.TrimLeft(word[:min(len(word), 80)]+"-", "-.") + hex.EncodeToString(salt[:])
}
