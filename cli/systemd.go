package cli

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"text/template"

	"github.com/urfave/cli/v2"
)

//go:embed systemd
var unitFiles embed.FS

// unitUsers is who runs which daemon. An agent that is not root keeps its
// tasks apart less.
var unitUsers = map[string]string{"master": "ringmaster", "agent": "root", "jobs": "ringmaster"}

// unit is what differs between the hosts of one daemon.
type unit struct {
	Binary, Config string // absolute
	User           string
}

func systemdCommand() *cli.Command {
	return &cli.Command{
		Name: "systemd", Category: otherGroup, Usage: "the systemd unit of a daemon", ArgsUsage: "master|agent|jobs",
		Description: examples(
			"ringmaster systemd master > /etc/systemd/system/ringmaster-master.service",
			"ringmaster systemd agent --config /etc/ringmaster/a1.yaml > /etc/systemd/system/ringmaster-a1.service",
			"systemctl daemon-reload; systemctl enable --now ringmaster-master") +
			"\n\nThe unit runs the very file that prints it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "`FILE` with the daemon's configuration", DefaultText: "/etc/ringmaster/DAEMON.yaml"},
			&cli.StringFlag{Name: "user", Usage: "`USER` that the daemon runs as", DefaultText: "ringmaster; an agent runs as root"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			kind := c.Args().First()
			if unitUsers[kind] == "" {
				return usagef("ringmaster systemd knows agent, jobs and master, not %q", kind)
			}
			u, err := unitOf(c, kind)
			if err != nil {
				return err
			}
			units, err := template.ParseFS(unitFiles, "systemd/*")
			if err != nil {
				return err
			}
			return units.ExecuteTemplate(c.App.Writer, kind+".service", u)
		},
	}
}

var (
	unitPath = regexp.MustCompile(`^/[A-Za-z0-9/._+@:-]+$`)
	unitUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// unitOf returns what the flags say, and refuses what a unit file would read
// as something else.
func unitOf(c *cli.Context, kind string) (unit, error) {
	u := unit{Config: "/etc/ringmaster/" + kind + ".yaml", User: unitUsers[kind]}
	if given := c.String("config"); given != "" {
		path, err := filepath.Abs(given)
		if err != nil {
			return unit{}, fmt.Errorf("--config %q: %w", given, err)
		}
		u.Config = path
	}
	if given := c.String("user"); given != "" {
		u.User = given
	}
	binary, err := os.Executable()
	if err != nil {
		return unit{}, fmt.Errorf("where is this program? %w", err)
	}
	u.Binary = binary
	switch {
	case !unitPath.MatchString(u.Config):
		return unit{}, usagef("--config %q: in a unit a path has letters, digits and /._+@:- only", u.Config)
	case !unitPath.MatchString(u.Binary):
		return unit{}, usagef("this program is %q: in a unit a path has letters, digits and /._+@:- only; move it", u.Binary)
	case !unitUser.MatchString(u.User):
		return unit{}, usagef("--user %q is no name of a user", u.User)
	}
	return u, nil
}
