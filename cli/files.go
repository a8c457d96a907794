package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

func filesCommand() *cli.Command {
	return &cli.Command{
		Name: "files", Category: workGroup, Usage: "what is in a task's sandbox: a folder as a list, a file as it is", ArgsUsage: "TASK [PATH]",
		Description: examples("ringmaster files build-7", "ringmaster files build-7 out/report.pdf > report.pdf"),
		Flags: clientFlags(
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM` of a folder's list: table, wide or json", Value: "table"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour on a terminal, as NO_COLOR in the environment"},
		),
		Action: files,
	}
}

// fileView is one entry of a folder.
type fileView struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Mode     string    `json:"mode"`
	Modified time.Time `json:"modified"`
	Dir      bool      `json:"dir"`
}

type folderView struct {
	Files []fileView `json:"files"`
}

func files(c *cli.Context) error {
	if err := wantArgs(c, 1, 2); err != nil {
		return err
	}
	if err := wantForm(c); err != nil {
		return err
	}
	inside := strings.TrimLeft(c.Args().Get(1), "/")
	if inside != "" && !filepath.IsLocal(inside) {
		return fmt.Errorf("%.200s leads out of the task's sandbox; name what is in it", c.Args().Get(1))
	}
	if inside = filepath.Clean(inside); inside == "." {
		inside = ""
	}
	cl, err := newClient(c)
	if err != nil {
		return err
	}
	task, err := cl.taskPath(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	path := task + "/files/" + (&url.URL{Path: inside}).EscapedPath()
	resp, err := cl.Do(c.Context, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "application/json" { // which every file has another one than
		return copyFile(c, resp.Body)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("the answer to %s broke off: %w", path, err)
	}
	text, err := present(c, sightOf(raw, path, drawFolder), nil)
	if err != nil {
		return err
	}
	_, err = c.App.Writer.Write(text)
	return err
}

func copyFile(c *cli.Context, from io.Reader) error {
	n, err := io.Copy(c.App.Writer, from)
	switch {
	case c.Context.Err() != nil:
		return c.Context.Err()
	case err != nil:
		return fmt.Errorf("the file broke off after %d bytes; ask again: %w", n, err)
	}
	return nil
}

func drawFolder(p *page, v folderView) {
	if len(v.Files) == 0 {
		p.printf("no files\n")
		return
	}
	now, rows := time.Now(), make([]row, 0, len(v.Files))
	for _, f := range v.Files {
		name, bytes := f.Name, size(f.Size)
		if f.Dir {
			name, bytes = name+"/", ""
		}
		rows = append(rows, row{name, bytes, f.Mode, age(now, f.Modified)})
	}
	p.table(row{"NAME", "SIZE", "MODE", "AGE"}, rows)
}
