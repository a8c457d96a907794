package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func execCommand() *cli.Command {
	return &cli.Command{
		Name: "exec", Category: workGroup, Usage: "run a command beside a running task, where the task is: its sandbox, user, limits, container", ArgsUsage: "TASK -- argv...",
		Description: examples(
			"ringmaster exec web-1 -- sh                          # with a terminal, where this one is one",
			"ringmaster exec build-7 -- cat config.json > mine    # plain streams, kept apart, and its exit code",
			"tar c data | ringmaster exec build-7 -- tar x"),
		Flags: clientFlags(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 2, -1); err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			path, err := cl.taskPath(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			return execute(c, cl, path+"/exec", c.Args().Tail())
		},
	}
}

// execute runs the command and ends with its code. A terminal is given to it
// where both our ends are one.
func execute(c *cli.Context, cl *client, path string, argv []string) error {
	start := &wire.ExecStart{Argv: argv}
	if err := start.Validate(); err != nil {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), "start: "))}
	}
	tty := terminalOf(c)
	if tty != nil {
		size, err := tty.size()
		if err != nil {
			return err
		}
		start.Terminal = &wire.ExecTerminal{Kind: cmp.Or(os.Getenv("TERM"), "xterm"), ExecResize: size}
	}
	link, err := cl.open(c.Context, path)
	if err != nil {
		return err
	}
	if tty != nil {
		if err := tty.raw(); err != nil {
			link.Close("no terminal")
			return err
		}
		defer tty.restore()
	}
	t := newExecTalk(link, c)
	exit, err := t.run(c.Context, start, tty)
	switch {
	case c.Context.Err() != nil:
		return c.Context.Err()
	case err != nil:
		return fmt.Errorf("the connection to the command broke off, and with it the command: %w", err)
	case exit.Message != "":
		if tty != nil {
			tty.restore() // the line below begins where others do
		}
		complain(c.App.ErrWriter, errors.New(exit.Message))
	}
	if exit.Code == 0 {
		return nil
	}
	return exitError(exit.Code)
}

// open connects to an agent by the master that leads.
func (cl *client) open(ctx context.Context, path string) (*wire.Conn, error) {
	defer cl.Waits()()
	at := strings.Replace(cl.Scheme(), "http", "ws", 1) + "://" + cmp.Or(cl.Heard(), cl.Masters()[0]) + path
	for range 5 {
		link, err := wire.Dial(ctx, at, wire.ExecProtocol, cl.Door().Header(), cl.Door().ClientTLS(), wire.ExecOptions)
		var other *wire.RedirectError
		var refused *wire.StatusError
		switch {
		case errors.As(err, &other):
			if at = other.Location; cl.Scheme() == "https" && !strings.HasPrefix(at, "wss:") {
				return nil, fmt.Errorf("%s would leave TLS", at)
			}
			continue
		case errors.As(err, &refused):
			return nil, errors.New(cmp.Or(refused.Reason, fmt.Sprintf("the master answered %d %s", refused.Status, http.StatusText(refused.Status))))
		}
		return link, err
	}
	return nil, errors.New("the masters send us in circles")
}

// terminal is ours.
type terminal struct {
	in, out *os.File
	before  *term.State // nil while it is as it was
}

// terminalOf returns our terminal if standard input and output both are one.
func terminalOf(c *cli.Context) *terminal {
	in, inIs := c.App.Reader.(*os.File)
	out, outIs := c.App.Writer.(*os.File)
	if !inIs || !outIs || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return &terminal{in: in, out: out}
}

func (t *terminal) size() (wire.ExecResize, error) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return wire.ExecResize{}, fmt.Errorf("size of the terminal: %w", err)
	}
	return wire.ExecResize{Rows: uint16(rows), Columns: uint16(columns)}, nil
}

// raw hands every key on as it is, Ctrl-C too.
func (t *terminal) raw() (err error) {
	if t.before, err = term.MakeRaw(int(t.in.Fd())); err != nil {
		return fmt.Errorf("set up the terminal: %w", err)
	}
	return nil
}

// restore undoes raw; again it does nothing.
func (t *terminal) restore() {
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before) // there is nobody else to tell
		t.before = nil
	}
}
