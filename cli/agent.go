package cli

import "github.com/urfave/cli/v2"

func agentCommand() *cli.Command {
	opts := agentOptions()
	return &cli.Command{
		Name: "agent", Category: startGroup, Usage: "an agent, which offers this host and runs tasks on it",
		Description: examples(
			"ringmaster agent --masters 10.0.0.1:5050,10.0.0.2:5050 --data-dir /var/lib/ringmaster-agent",
			"ringmaster agent --name a2 --data-dir /tmp/a2 --resources 'cpus=4,mem=8GiB,disk=100GiB,gpu=2x24GiB' --attributes rack=r1,zone=a",
			"ringmaster agent --config agent.yaml") +
			"\n\nIt prints one line \"ready URL\" when it has registered. SIGTERM stops it and leaves its tasks running;" +
			"\nSIGHUP reads the log level again.",
		Flags: daemonFlags(opts),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			s, err := configure(c, agentDefaults(), opts)
			if err != nil {
				return err
			}
			d, err := s.openDoor()
			if err != nil {
				return err
			}
			log := openLog(s, "agent", c.App.ErrWriter)
			defer reloading(c, log, agentDefaults, opts)()
			t, endTraces, err := openTracer(s, "agent", log)
			if err != nil {
				return err
			}
			defer endTraces()
			a, err := openAgent(s, d, t, log, false)
			if err != nil {
				return addressInUse(err)
			}
			return serve(c, a, a.Registered(), d.Scheme())
		},
	}
}
