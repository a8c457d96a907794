package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

func devCommand() *cli.Command {
	opts := devOptions()
	return &cli.Command{
		Name: "dev", Category: startGroup, Usage: "a whole cluster in one process: a master, an agent with this host's resources, and the jobs framework", ArgsUsage: "[-- CMD ARGS...]",
		Description: examples(
			"ringmaster dev",
			"ringmaster dev --http 127.0.0.1:6060 --resources 'cpus=64,mem=256GiB,gpu=8x24GiB'",
			"ringmaster dev -- ringmaster run -- echo hello     # run one command against it and end with its exit code",
			"ringmaster dev --stay -- ./load.sh                 # keep it afterwards") +
			"\n\nData is under a temporary folder that goes with it, or in --data-dir. Ctrl-C ends it and its tasks.",
		Flags: append(daemonFlags(opts), &cli.BoolFlag{Name: "stay", Usage: "go on after CMD, until Ctrl-C"}),
		Action: func(c *cli.Context) error {
			s, err := configure(c, devDefaults(), opts)
			if err != nil {
				return err
			}
			if c.Bool("stay") && !c.Args().Present() {
				return usagef("--stay goes with a command: ringmaster dev --stay -- CMD; without one dev stays anyway")
			}
			d, err := s.openDoor()
			if err != nil {
				return err
			}
			log := openLog(s, "dev", c.App.ErrWriter)
			defer reloading(c, log, devDefaults, opts)()
			remove, err := devFolder(s)
			if err != nil {
				return err
			}
			return errors.Join(dev(c, s, d, log), remove())
		},
	}
}

// devFolder makes the temporary folder unless there is one to keep, and
// returns what removes it.
func devFolder(s *settings) (func() error, error) {
	if s.dataDir != "" {
		return func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "ringmaster-dev-")
	if err != nil {
		return nil, fmt.Errorf("a temporary folder: %w; give --data-dir", err)
	}
	s.dataDir = dir
	return func() error { return os.RemoveAll(dir) }, nil
}

// dev is the life of the cluster: master, agent, jobs, work, end. The jobs end
// first, so that nothing is launched again, then the agent and its tasks with it.
func dev(c *cli.Context, s *settings, d *door.Door, log hclog.Logger) (err error) {
	ctx := c.Context
	tracers := map[string]offers.Tracer{}
	for _, kind := range []string{"master", "agent", "jobs"} {
		t, end, err := openTracer(s, kind, log.Named(kind))
		if err != nil {
			return err
		}
		defer end()
		tracers[kind] = t
	}
	ofMaster := *s
	ofMaster.dataDir = filepath.Join(s.dataDir, "master")
	m, err := openMaster(&ofMaster, d, tracers["master"], log.Named("master"))
	if err != nil {
		return addressInUse(err)
	}
	master := start(ctx, m)
	defer func() { err = ending(err, master.stop()) }()
	if err := master.until(ctx, m.Ready()); err != nil {
		return addressInUse(err)
	}
	at := dialable(m.Address())

	ofAgent := *s
	ofAgent.dataDir, ofAgent.http, ofAgent.masters = filepath.Join(s.dataDir, "agent"), "127.0.0.1:0", []string{at}
	a, err := openAgent(&ofAgent, d, tracers["agent"], log.Named("agent"), true)
	if err != nil {
		return err
	}
	agent := start(ctx, a)
	defer func() { err = ending(err, agent.stop()) }()
	if err := agent.until(ctx, a.Registered()); err != nil {
		return err
	}

	ofJobs := *s
	ofJobs.http, ofJobs.advertiseHTTP, ofJobs.masters, ofJobs.role = "127.0.0.1:0", "", []string{at}, "default"
	j, err := openJobs(&ofJobs, d, tracers["jobs"], log.Named("jobs"))
	if err != nil {
		return err
	}
	jobs := start(ctx, j)
	defer func() { err = ending(err, jobs.stop()) }()
	if err := jobs.until(ctx, j.Ready()); err != nil {
		return err
	}

	endpoint := d.Scheme() + "://" + at
	if _, err := fmt.Fprintf(c.App.Writer, "ready %s\n", endpoint); err != nil {
		return err
	}
	return devWork(c, s, at, endpoint, devServices{master, agent, jobs})
}

// devWork runs the command if there is one, and stays where it should.
func devWork(c *cli.Context, s *settings, at, endpoint string, services devServices) error {
	if c.Args().Present() {
		err := runAgainst(c, s, at)
		if !c.Bool("stay") || c.Context.Err() != nil {
			return err
		}
		var code exitError
		if err != nil && !errors.As(err, &code) {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "\nThe command ended with exit code %d; the cluster is still there until Ctrl-C:\n%s", int(code), lookAround(at, endpoint))
		return errors.Join(err, services.wait(c.Context))
	}
	fmt.Fprintf(c.App.ErrWriter, "A cluster of one master and one agent is up; Ctrl-C ends it and its tasks. From another terminal:\n%s", lookAround(at, endpoint))
	return services.wait(c.Context)
}

var errUnasked = errors.New("nobody asked it to")

// devServices are what runs in the one process.
type devServices struct{ master, agent, jobs *runningService }

// wait returns at the end of ctx, or when one of the services has failed.
func (s devServices) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.master.done:
		return fmt.Errorf("the master ended: %w", cmp.Or(s.master.err, errUnasked))
	case <-s.agent.done:
		return fmt.Errorf("the agent ended: %w", cmp.Or(s.agent.err, errUnasked))
	case <-s.jobs.done:
		return fmt.Errorf("the jobs framework ended: %w", cmp.Or(s.jobs.err, errUnasked))
	}
}

// lookAround is what to try next, the last line to be pasted.
func lookAround(at, endpoint string) string {
	export := ""
	if at != defaultMasters {
		export = "  export RINGMASTER_MASTERS=" + at + "\n"
	}
	binary := typed()
	return export + "  " + binary + " status              # or " + endpoint + " in a browser\n" +
		"  " + binary + " tasks --watch\n" +
		"  " + binary + " run -- echo hello\n"
}

// typed is how this program was called, which a shell in the same folder finds.
func typed() string {
	if strings.HasSuffix(os.Args[0], "ringmaster") && !strings.ContainsAny(os.Args[0], " '\"$\\") {
		return os.Args[0]
	}
	return "ringmaster"
}

// ending keeps the first error; the end of the context is none.
func ending(first, second error) error {
	if first == nil || errors.Is(first, context.Canceled) {
		return second
	}
	return first
}

// dialable turns an address that listens everywhere into one to dial here.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}
