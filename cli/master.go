package cli

import "github.com/urfave/cli/v2"

func masterCommand() *cli.Command {
	opts := masterOptions()
	return &cli.Command{
		Name: "master", Category: startGroup, Usage: "a master",
		Description: examples(
			"ringmaster master --name m1 --data-dir /var/lib/ringmaster --http 127.0.0.1:5050 --raft 127.0.0.1:5051",
			"ringmaster master --config master.yaml",
			"ringmaster master --name m2 --http 10.0.0.2:5050 --raft 10.0.0.2:5051 --bootstrap-expect 3 \\",
			"    --join 10.0.0.1:5051,10.0.0.2:5051,10.0.0.3:5051 --cert m2.pem --key m2.key --ca ca.pem --token \"$TOKEN\"",
			"ringmaster master --name m4 --http 10.0.0.4:5050 --raft 10.0.0.4:5051 --join 10.0.0.1:5051     # joins a cluster that runs") +
			"\n\nIt prints one line \"ready URL\" when it serves. SIGTERM stops it cleanly, SIGHUP reads the log level again.",
		Flags: daemonFlags(opts),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			s, err := configure(c, masterDefaults(), opts)
			if err != nil {
				return err
			}
			d, err := s.openDoor()
			if err != nil {
				return err
			}
			collectLess(leastRoom)
			log := openLog(s, "master", c.App.ErrWriter)
			defer reloading(c, log, masterDefaults, opts)()
			t, endTraces, err := openTracer(s, "master", log)
			if err != nil {
				return err
			}
			defer endTraces()
			m, err := openMaster(s, d, t, log)
			if err != nil {
				return addressInUse(err)
			}
			return serve(c, m, m.Ready(), d.Scheme())
		},
	}
}
