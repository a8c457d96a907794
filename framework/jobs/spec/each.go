package spec

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// resolve turns the arrays that name a file or a pattern into their items.
// files is the folder of the job file and dir its path: matched files become
// paths that begin with it.
func (j *Job) resolve(files fs.FS, dir string) error {
	for _, w := range j.works() {
		if e := w.Each; e != nil {
			if err := e.resolve(files, dir); err != nil {
				return &Error{Path: w.path("each"), Message: err.Error()}
			}
		}
	}
	return nil
}

func (e *Each) resolve(files fs.FS, dir string) error {
	switch {
	case e.Lines != "":
		text, err := fs.ReadFile(files, path.Clean(e.Lines))
		if err != nil {
			return fmt.Errorf("lines: %q can't be read below the job file's folder: %w", e.Lines, reason(err))
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				e.Items = append(e.Items, line)
			}
		}
		if len(e.Items) == 0 {
			return fmt.Errorf("lines: %q has no line", e.Lines)
		}
	case e.Files != "":
		found, err := fs.Glob(files, path.Clean(e.Files))
		if err != nil {
			return fmt.Errorf("files: %q is not a pattern", e.Files)
		}
		if len(found) == 0 {
			return fmt.Errorf("files: nothing below the job file's folder matches %q", e.Files)
		}
		root, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("files: %w", err)
		}
		for _, f := range found {
			e.Items = append(e.Items, filepath.Join(root, filepath.FromSlash(f)))
		}
	}
	e.Lines, e.Files = "", ""
	return nil
}

// reason leaves out the path that the sentence has already.
func reason(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}

// maxItem bounds one item, and MaxInstances how many there may be.
const (
	maxItem      = 4096
	MaxInstances = 10_000 // of one step
)

func (e *Each) validate() error {
	if len(e.Items) == 0 {
		return fmt.Errorf("the list is empty")
	}
	for i, item := range e.Items {
		if len(item) > maxItem || !utf8.ValidString(item) || strings.ContainsRune(item, 0) {
			return fmt.Errorf("item %d is longer than %d bytes or not text", i, maxItem)
		}
	}
	return nil
}
