package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// source is where a URI leads.
type source interface {
	// key names it in the cache, without showing it.
	key() string
	// open begins to read it. Nothing, and no error, means that it still is
	// the version of that mark.
	open(ctx context.Context, mark string) (*content, error)
}

// content is a version on its way.
type content struct {
	io.ReadCloser
	size int64  // -1: not known
	mark string // what tells this version from others; "" if nothing does
}

// source refuses what the task's validation has let through, too, since that
// was done by somebody else.
func (s *Store) source(uri string) (source, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, errors.New("it is not a URI")
	}
	switch u.Scheme {
	case "http", "https":
		return &server{uri: u, client: s.client}, nil
	case "file":
		return &file{path: filepath.Clean(u.Path), roots: s.roots}, nil
	}
	return nil, errors.New("its scheme is not http, https or file")
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// file is a file of this host, beneath one of the roots.
type file struct {
	path  string
	roots []string // without links
}

var _ source = (*file)(nil)

func (f *file) key() string { return hashed("file://" + f.path) }

// open follows links, but only to what is beneath a root when all of them are
// resolved; and it opens it beneath that root, so that no link that changes
// meanwhile leads elsewhere. What is not there and what is not allowed look
// the same to the task.
func (f *file) open(_ context.Context, mark string) (*content, error) {
	refused := errors.New("there is no such file in the folders that artifact_roots of this agent opens to tasks")
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil, refused
	}
	for _, folder := range f.roots {
		rel, err := filepath.Rel(folder, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, refused
		}
		defer root.Close()
		opened, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, refused
		}
		return plain(opened, mark)
	}
	return nil, refused
}

func plain(f *os.File, mark string) (*content, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a plain file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	current := version(info)
	if current == mark {
		return nil, f.Close()
	}
	return &content{ReadCloser: f, size: info.Size(), mark: current}, nil
}

// version tells versions of a file apart; the change time can't be set back.
func version(info os.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d.%d.%d", st.Dev, st.Ino, info.Size(), info.ModTime().UnixNano(), time.Unix(st.Ctim.Unix()).UnixNano())
}

// watched reads content within its bounds.
type watched struct {
	ctx        context.Context
	from       io.Reader
	left, most int64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.from.Read(p)
	if w.left -= int64(n); w.left < 0 {
		return n, tooLarge(w.most)
	}
	if err != nil && err != io.EOF && w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	return n, err
}

// fault is an error that a second try may not meet.
type fault struct{ error }

func passing(err error) bool {
	var f fault
	return errors.As(err, &f)
}

func (f fault) Unwrap() error { return f.error }

// oneLine makes a sentence of what others say.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:297] + "..."
	}
	return text
}
