package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Entry is one file of a folder as readers see it.
type Entry struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Mode     string    `json:"mode"`
	Modified time.Time `json:"modified"`
	Dir      bool      `json:"dir"`
}

// pollEvery is how often a followed log is looked at; only while somebody
// follows one.
const pollEvery = 200 * time.Millisecond

// ServeLog sends the bytes of a task's stdout or stderr from offset on, but for
// those that were given up. With follow it goes on until ended is closed and
// everything was sent, or the reader leaves. An error is of before the first
// byte.
func (s *Store) ServeLog(w http.ResponseWriter, r *http.Request, ref offers.TaskRef, stream string, offset int64, ended <-chan struct{}) error {
	f, err := s.open(ref, stream)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	from := &log{f: f, at: offset}
	send := func() bool { return from.sendAll(w) }
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for send() {
		select {
		case <-ended:
			send()
			return nil
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// sendAll sends what is there now and reports whether the reader still reads.
func (l *log) sendAll(w http.ResponseWriter) bool {
	for {
		data, err := l.next()
		if err == io.EOF {
			return http.NewResponseController(w).Flush() == nil
		}
		if err != nil {
			return false
		}
		if _, err := w.Write(data); err != nil {
			return false
		}
	}
}

// ServeFile sends a file's bytes, or calls list with what is in a folder.
func (s *Store) ServeFile(w http.ResponseWriter, r *http.Request, ref offers.TaskRef, path string, list func([]Entry)) error {
	path = strings.Trim(path, "/")
	if path == "" {
		path = "."
	}
	f, err := s.open(ref, path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := entries(f)
		if err == nil {
			list(entries)
		}
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	var content io.ReadSeeker = f
	if slices.Contains(Streams, path) {
		from, err := dataFrom(f, 0)
		if err != nil {
			from = info.Size() // nothing is left, or was ever there
		}
		content = io.NewSectionReader(f, from, info.Size()-from)
	}
	http.ServeContent(w, r, "", info.ModTime(), content)
	return nil
}

// open opens a regular file or a folder beneath the task's folder, and nothing
// that would block or lead elsewhere.
func (s *Store) open(ref offers.TaskRef, path string) (*os.File, error) {
	root, err := os.OpenRoot(s.Path(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offers.Errorf(offers.UnknownTask, "there is no sandbox of task %s here", ref)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offers.Errorf(offers.UnknownTask, "there is no file %.200q in the sandbox of task %s", path, ref)
	}
	if err != nil {
		return nil, offers.Errorf(offers.Forbidden, "the file %.200q of task %s can't be read: it leads out of the sandbox or is no plain file", path, ref)
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = offers.Errorf(offers.Forbidden, "%.200q of task %s is no plain file", path, ref)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func entries(f *os.File) ([]Entry, error) {
	infos, err := f.Readdir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	list := make([]Entry, len(infos))
	for i, info := range infos {
		list[i] = Entry{Name: info.Name(), Size: info.Size(), Mode: info.Mode().String(), Modified: info.ModTime().UTC(), Dir: info.IsDir()}
	}
	return list, nil
}
