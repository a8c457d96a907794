package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/agent/simulated"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Category: otherGroup, Usage: "put load on a cluster",
		Description: examples(
			"ringmaster bench agents --count 1000",
			"ringmaster bench run --agents 1000 --frameworks 10 --tasks 100000",
			"ringmaster bench recover --agents 1000 --frameworks 10 --tasks 100000"),
		Subcommands: []*cli.Command{benchAgentsCommand(), benchRunCommand(), benchRecoverCommand()},
	}
}

func benchAgentsCommand() *cli.Command {
	return &cli.Command{
		Name: "agents", Usage: "simulated agents, which speak as real ones do and only pretend to run tasks",
		Description: examples(
			"ringmaster bench agents --count 1000",
			"ringmaster bench agents --count 1000 --resources 'cpus=64,mem=488GB,gpu=8x24GiB' --task-time 10s --masters 10.0.0.1:5050,10.0.0.2:5050") +
			"\n\nIt prints one line \"ready N agents\" each time that the masters have taken all of them, at first and after" +
			"\nconnections were lost, and at the end, Ctrl-C or SIGTERM, how many tasks they have run. What they know goes" +
			"\nwith them: the next ones of the same names are new agents, and the old ones' tasks are gone.",
		Flags: clientFlags(
			&cli.IntFlag{Name: "count", Usage: "`NUMBER` of agents", Value: 100},
			&cli.StringFlag{Name: "resources", Usage: "`AMOUNTS` that each one offers; what is not named is none", Value: "cpus=16,mem=64GiB,disk=1TiB"},
			&cli.StringFlag{Name: "task-time", Usage: "`TIME` that every task runs for", Value: "1s"},
			&cli.StringFlag{Name: "name", Usage: "the agents are `NAME`-1, NAME-2, ...", Value: "sim"},
		),
		Action: benchAgents,
	}
}

func benchAgents(c *cli.Context) error {
	if err := wantArgs(c, 0, 0); err != nil {
		return err
	}
	taskTime, err := durationFlag(c, "task-time")
	if err != nil {
		return err
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	collectLess(loadRoom)
	fleet, err := simulated.Open(simulated.Config{
		Count: c.Int("count"), Name: c.String("name"), Masters: cl.Masters(), Resources: c.String("resources"),
		TaskTime: taskTime.Std(), Version: Version, Door: cl.Door(), Logger: openLog(&settings{logLevel: "info"}, "bench", c.App.ErrWriter),
	})
	if err != nil {
		return usageError{err}
	}
	done := make(chan error, 1)
	go func() { done <- fleet.Run(c.Context) }()
	for ended := false; !ended; {
		select {
		case <-fleet.Registered():
			_, wrong := fmt.Fprintf(c.App.Writer, "ready %d agents\n", c.Int("count"))
			err = errors.Join(err, wrong)
		case wrong := <-done:
			err, ended = errors.Join(err, wrong), true
		}
	}
	if err != nil {
		return err
	}
	started, ended := fleet.Counts()
	_, err = fmt.Fprintf(c.App.Writer, "tasks started: %d, ended: %d\n", started, ended)
	return err
}
