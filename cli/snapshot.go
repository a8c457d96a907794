package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/ringmaster-project/ringmaster/master/state"
)

func snapshotCommand() *cli.Command {
	return &cli.Command{
		Name: "snapshot", Category: operateGroup, Usage: "save what the masters agree on, and restore it",
		Description: examples("ringmaster snapshot save monday.snapshot", "ringmaster snapshot restore monday.snapshot"),
		Subcommands: []*cli.Command{snapshotSaveCommand(), snapshotRestoreCommand()},
	}
}

func snapshotSaveCommand() *cli.Command {
	return &cli.Command{
		Name: "save", Usage: "write the masters' state to a file, which is there whole and checked or not at all", ArgsUsage: "FILE",
		Description: examples("ringmaster snapshot save monday.snapshot"),
		Flags:       clientFlags(),
		Action: aboutOne(func(c *cli.Context, cl *client, path string) error {
			if err := wantWord(c); err != nil {
				return err
			}
			resp, err := cl.Do(c.Context, http.MethodGet, "/v1/snapshot", nil)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			s, n, err := keepSnapshot(path, resp.Body)
			if err != nil {
				return fmt.Errorf("%s was not saved: %w", path, err)
			}
			_, err = fmt.Fprintf(c.App.Writer, "saved %s: %s, %s\n", path, size(n), contents(s))
			return err
		}),
	}
}

// keepSnapshot writes a snapshot beside path and moves it there once it was
// read back from the disk and found whole. Only its owner may read it: tasks
// may have secrets in their environment.
func keepSnapshot(path string, from io.Reader) (_ *state.State, n int64, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		_ = file.Close()
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if n, err = io.Copy(file, from); err != nil {
		return nil, 0, fmt.Errorf("it broke off after %d bytes: %w", n, err)
	}
	if err = file.Sync(); err != nil {
		return nil, 0, err
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	s, err := state.Read(file)
	if err != nil {
		return nil, 0, err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return nil, 0, err
	}
	return s, n, syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in it durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// contents says what a state holds.
func contents(s *state.State) string {
	roles, live := 0, 0
	for range s.Roles() {
		roles++
	}
	for f := range s.Frameworks() {
		if !f.Removed {
			live++
		}
	}
	n := s.Counts()
	return fmt.Sprintf("cluster %.8s with %s, %s, %s living and %d ended, %s",
		s.ClusterID(), many(n.Agents, "agent"), many(live, "framework"), many(n.Live, "task"), n.Ended, many(roles, "role"))
}

func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func snapshotRestoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "put a saved snapshot in the place of the masters' state", ArgsUsage: "FILE",
		Description: examples("ringmaster snapshot restore monday.snapshot", "ringmaster snapshot restore monday.snapshot --yes") +
			"\n\nEverything since the snapshot was saved is undone: tasks that it does not know are killed by their agents, and tasks" +
			"\nthat live in it but not on their agents any more are gone. Frameworks and agents connect anew.",
		Flags:  clientFlags(&cli.BoolFlag{Name: "yes", Usage: "do it without asking"}),
		Action: aboutOne(restoreSnapshot),
	}
}

func restoreSnapshot(c *cli.Context, cl *client, path string) error {
	if err := wantWord(c); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := state.Read(strings.NewReader(string(text)))
	if err != nil {
		return fmt.Errorf("%s can't be restored: %w", path, err)
	}
	raw, err := cl.Read(c.Context, "/v1/status")
	if err != nil {
		return err
	}
	var now struct {
		ClusterID  string `json:"cluster_id"`
		Frameworks int    `json:"frameworks"`
	}
	if err := json.Unmarshal(raw, &now); err != nil {
		return fmt.Errorf("the master's status can't be read: %w", err)
	}
	fmt.Fprintf(c.App.Writer, "%s is whole: %s.\n", path, contents(s))
	fmt.Fprintf(c.App.Writer, "It takes the place of what the masters of cluster %.8s hold, which has %s. Frameworks and agents connect anew; tasks that it does not know are killed.\n",
		now.ClusterID, many(now.Frameworks, "framework"))
	if err := consent(c); err != nil {
		return err
	}
	cl.Carry(5 * time.Minute)
	answer, err := cl.Send(c.Context, http.MethodPost, "/v1/snapshot", text)
	if err != nil {
		return err
	}
	var done struct {
		Term uint64 `json:"term"`
	}
	if err := json.Unmarshal(answer, &done); err != nil {
		return fmt.Errorf("the master's answer can't be read: %w", err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "restored; the term is %d\n", done.Term)
	return err
}

// consent asks on a terminal whether to go on, unless --yes was given.
func consent(c *cli.Context) error {
	if c.Bool("yes") {
		return nil
	}
	f, ok := c.App.Reader.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usagef("nothing was restored: give --yes to do it")
	}
	fmt.Fprint(c.App.Writer, "Restore it? [y/N] ")
	line, err := bufio.NewReader(f).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return errors.New("nothing was restored")
}
