package cli

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

func tokenCommand() *cli.Command {
	return &cli.Command{
		Name: "token", Category: operateGroup, Usage: "make the cluster's token, or see whether the masters take one",
		Description: examples("ringmaster token new", "ringmaster token check --token \"$TOKEN\""),
		Subcommands: []*cli.Command{tokenNewCommand(), tokenCheckCommand()},
	}
}

func tokenNewCommand() *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "print a token that nobody guesses",
		Description: examples("ringmaster token new", "(umask 077; ringmaster token new > /etc/ringmaster/token)") +
			"\n\nMasters, agents, the jobs framework and all commands take it as --token, as RINGMASTER_TOKEN or as" +
			"\nthe key token of their file. Nothing is told to a cluster: it has the token that its daemons began with.",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.App.Writer, rand.Text()+rand.Text()) // 260 bits
			return err
		},
	}
}

func tokenCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "say whether the masters take the token, or ask for none",
		Description: examples("ringmaster token check", "RINGMASTER_TOKEN=$(cat /etc/ringmaster/token) ringmaster token check"),
		Flags:       clientFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			if _, err := cl.Read(c.Context, "/v1/masters"); err != nil {
				return err
			}
			asked, err := cl.asksForToken(c)
			if err != nil {
				return err
			}
			said := "the masters take this token"
			switch {
			case !asked && c.String("token") == "":
				said = "the masters ask for no token"
			case !asked:
				said = "the masters ask for no token, and so don't look at this one"
			}
			_, err = fmt.Fprintln(c.App.Writer, said)
			return err
		},
	}
}

// asksForToken reports whether the masters refuse who has no token.
func (cl *client) asksForToken(c *cli.Context) (bool, error) {
	d, err := door.Open(door.Config{CertFile: c.String("cert"), KeyFile: c.String("key"), CAFile: c.String("ca")})
	if err != nil {
		return false, err
	}
	_, err = openClient(cl.Masters(), d).Read(c.Context, "/v1/masters")
	if errors.Is(err, &offers.Error{Code: offers.Unauthenticated}) {
		return true, nil
	}
	return false, err
}
