package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name: "top", Category: lookGroup, Usage: "the cluster live, over the whole terminal: agents, tasks, roles and rings",
		Description: examples("ringmaster top", "ringmaster top --view tasks --masters 10.0.0.1:5050,10.0.0.2:5050") +
			"\n\nKeys: 1 to 4 or tab for a view; arrows, page up and down, home and end to move; enter for one thing" +
			"\nand what happened to it, esc back; / to filter; < and > to sort by another column, r to reverse;" +
			"\nw for more columns; ? for what the keys do; q ends. A bar is what is used, what is offered and what is free.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "view", Usage: "begin with `VIEW`: agents, tasks, roles or rings", Value: "agents"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour on a terminal, as NO_COLOR in the environment"},
		),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			view, err := topViewNamed(c.String("view"))
			if err != nil {
				return err
			}
			in, out, err := wholeTerminal(c)
			if err != nil {
				return err
			}
			cl, err := newClient(c)
			if err != nil {
				return err
			}
			cl.Late = nil // the screen says what waits
			return top(c.Context, cl, topWant{view: view}, in, out, newPage(c).color)
		},
	}
}

func topViewNamed(name string) (int, error) {
	for i, v := range topViews {
		if v.name == name {
			return i, nil
		}
	}
	return 0, usagef("--view %s: it is agents, tasks, roles or rings", name)
}

// wholeTerminal returns the two ends of the terminal that the program runs in.
func wholeTerminal(c *cli.Context) (in, out *os.File, err error) {
	in, isIn := c.App.Reader.(*os.File)
	out, isOut := c.App.Writer.(*os.File)
	if !isIn || !isOut || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, usagef("ringmaster top needs a terminal to draw on and to read keys from; ringmaster status --watch does without")
	}
	if kind := os.Getenv("TERM"); kind == "dumb" || kind == "" {
		return nil, nil, usagef("ringmaster top draws over the whole screen, which TERM=%s can't; ringmaster status --watch does without", kind)
	}
	return in, out, nil
}

// top shows the cluster until somebody ends it, or the context, which is a good
// end too. It waits for its goroutines.
func top(ctx context.Context, cl *client, want topWant, in, out *os.File, color bool) error {
	reader := &topReader{client: cl, wants: make(chan topWant, 1), now: time.Now}
	model := newTopModel(reader.ask, color)
	model.now = time.Now()
	model.look(want)
	program := tea.NewProgram(model, tea.WithoutSignalHandler(), tea.WithInput(in), tea.WithOutput(out))
	reader.tell = func(s topSeen) { program.Send(s) }

	asking, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { reader.run(asking) })
	running.Go(func() { tick(asking, func(now time.Time) { program.Send(topTick(now)) }) })
	running.Go(func() { // given the context it would close the terminal under its reader
		<-asking.Done()
		program.Quit()
	})
	_, err := program.Run()
	stop()
	running.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the terminal can't be used: %w", err)
	}
	return nil
}

// tick tells the time every second.
func tick(ctx context.Context, tell func(time.Time)) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			tell(now)
		}
	}
}
