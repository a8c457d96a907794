package cli

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

func jobsCommand() *cli.Command {
	opts := jobsOptions()
	return &cli.Command{
		Name: "jobs", Category: startGroup, Usage: "the jobs framework, which runs job files; several stand by for each other",
		Description: examples(
			"ringmaster jobs --masters 10.0.0.1:5050,10.0.0.2:5050",
			"ringmaster jobs --http 10.0.0.1:5060 --role batch --cert j.pem --key j.key --ca ca.pem --token \"$TOKEN\"") +
			"\n\nIt keeps its state in the masters and needs no disk. The masters must reach its --http. It prints one" +
			"\nline \"ready URL\" when it works or stands by. SIGTERM stops it and leaves the jobs' tasks running.",
		Flags: daemonFlags(opts),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			s, err := configure(c, jobsDefaults(), opts)
			if err != nil {
				return err
			}
			d, err := s.openDoor()
			if err != nil {
				return err
			}
			log := openLog(s, "jobs", c.App.ErrWriter)
			defer reloading(c, log, jobsDefaults, opts)()
			t, endTraces, err := openTracer(s, "jobs", log)
			if err != nil {
				return err
			}
			defer endTraces()
			daemon, err := openJobs(s, d, t, log)
			if err != nil {
				return addressInUse(err)
			}
			return serve(c, daemon, daemon.Ready(), d.Scheme())
		},
	}
}

func jobsDefaults() *settings {
	return &settings{http: "127.0.0.1:0", logLevel: "info", masters: []string{defaultMasters}, role: "default"}
}

// jobsOptions are those of every daemon but for what needs a disk or a name.
func jobsOptions() []option {
	common := slices.DeleteFunc(commonOptions(jobsDefaults()), func(o option) bool { return o.name == "name" || o.name == "data_dir" })
	return append(common, mastersOption(),
		option{name: "role", usage: "`ROLE` that the jobs count for", shown: "default", text: jobsRole},
		option{name: "advertise_http", usage: "`HOST:PORT` under which the masters reach --http", shown: "where it listens", text: address(func(s *settings) *string { return &s.advertiseHTTP })},
	)
}

func jobsRole(s *settings, text string) error {
	s.role = offers.Role(text)
	return s.role.Validate()
}

// openJobs opens the jobs framework that s describes.
func openJobs(s *settings, d *door.Door, t offers.Tracer, log hclog.Logger) (*jobs.Daemon, error) {
	return jobs.Open(jobs.Config{
		Masters: s.masters, Role: s.role, HTTP: s.http, Advertise: s.advertiseHTTP,
		Directory: &directory{masters: s.masters, door: d}, Door: d, Tracer: t, Logger: log,
	})
}

// directory tells the jobs framework which of its kind the masters know.
type directory struct {
	masters []string
	door    *door.Door
}

var _ jobs.Directory = (*directory)(nil)

// Frameworks implements [jobs.Directory]. The ids of frameworks order by the
// time they were given out, and so does the masters' list.
func (dir *directory) Frameworks(ctx context.Context) ([]jobs.Known, error) {
	cl := openClient(slices.Clone(dir.masters), dir.door)
	defer cl.Close()
	raw, err := cl.list(ctx, "/v1/frameworks", "frameworks", url.Values{})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Frameworks []struct {
			ID        offers.FrameworkID `json:"id"`
			Connected bool               `json:"connected"`
			Labels    map[string]string  `json:"labels"`
		} `json:"frameworks"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	var out []jobs.Known
	for _, f := range answer.Frameworks {
		if f.Labels[jobs.Label] != "" {
			out = append(out, jobs.Known{ID: f.ID, Connected: f.Connected})
		}
	}
	return out, nil
}
