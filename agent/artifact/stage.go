package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Target is the sandbox that artifacts go to.
type Target struct {
	Dir   string       // exists
	Owner *record.User // of what is put there; nil: the agent
	Disk  int64        // what the task asked for; 0: nothing
	Late  func(string) // is told once, in words, what is waited for, if that takes [Config].Late; nil: nobody
}

// Stage fetches artifacts, all at once, and puts them into the sandbox, one
// after the other in their order. The error is one sentence that names the
// artifact; what was put there before it stays.
func (s *Store) Stage(ctx context.Context, list []offers.Artifact, to Target) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Whole, fmt.Errorf("it was not there after %s", s.config.Whole))
	defer cancel()
	blobs, errs := s.fetchAll(ctx, list, to.Late)
	defer func() {
		for _, b := range blobs {
			if b != nil {
				s.unpin(b)
			}
		}
	}()
	for i := range list {
		if errs[i] != nil {
			return naming(i, &list[i], errs[i])
		}
	}
	if err := enter(ctx, s.placing); err != nil {
		return err
	}
	defer func() { <-s.placing }()
	return s.placeAll(ctx, list, blobs, to)
}

// fetchAll returns as much of a list as can be had, and why the rest can't.
func (s *Store) fetchAll(ctx context.Context, list []offers.Artifact, late func(string)) ([]*blob, []error) {
	blobs, errs := make([]*blob, len(list)), make([]error, len(list))
	here, all := make([]atomic.Bool, len(list)), make(chan struct{})
	var fetched, told sync.WaitGroup
	for i := range list {
		fetched.Go(func() {
			blobs[i], errs[i] = s.fetch(ctx, &list[i])
			here[i].Store(true)
		})
	}
	told.Go(func() {
		select {
		case <-all:
		case <-time.After(s.config.Late):
			if words := waitedFor(list, here); words != "" && late != nil {
				late(words)
			}
		}
	})
	fetched.Wait()
	close(all)
	told.Wait()
	return blobs, errs
}

// waitedFor names the first artifact that is not here and counts the others.
func waitedFor(list []offers.Artifact, here []atomic.Bool) string {
	words, more := "", 0
	for i := range list {
		switch {
		case here[i].Load():
		case words == "":
			words = fmt.Sprintf("artifacts[%d] (%s) is fetched", i, list[i].Shown())
		default:
			more++
		}
	}
	if more > 0 {
		words += fmt.Sprintf(", and %d more", more)
	}
	return words
}

func naming(i int, a *offers.Artifact, err error) error {
	return fmt.Errorf("artifacts[%d] (%s): %w", i, a.Shown(), err)
}

func (s *Store) placeAll(ctx context.Context, list []offers.Artifact, blobs []*blob, to Target) error {
	root, err := os.OpenRoot(to.Dir)
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	defer root.Close()
	t := &tree{ctx: ctx, root: root, owner: to.Owner, left: s.config.Bytes, entries: s.config.Entries}
	t.full = fmt.Errorf("it takes more than the %d bytes that artifacts may take in a sandbox", s.config.Bytes)
	if to.Disk > 0 && to.Disk < t.left {
		t.left, t.full = to.Disk, fmt.Errorf("it takes more than the %d bytes of disk that the task asked for", to.Disk)
	}
	for i := range list {
		if err := t.place(&list[i], blobs[i]); err != nil {
			return naming(i, &list[i], err)
		}
	}
	return nil
}

// place puts one artifact where it belongs.
func (t *tree) place(a *offers.Artifact, b *blob) error {
	f, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if a.Extract {
		return t.extract(f, b.size, a.Path())
	}
	mode := os.FileMode(0o644)
	if a.Executable {
		mode = 0o755
	}
	return t.file(a.Path(), mode, time.Time{}, f)
}

// tree writes into a sandbox, beneath its folder, within the task's bounds.
type tree struct {
	ctx     context.Context
	root    *os.Root
	owner   *record.User
	left    int64
	full    error // what to say when nothing is left
	entries int
	made    map[string]bool // folders that are there
}

var errEntries = errors.New("it holds more files than artifacts may")

// enters counts one more thing in the sandbox.
func (t *tree) enters() error {
	if t.entries--; t.entries < 0 {
		return errEntries
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return nil
}

// folder makes a folder and those above it, each the task's own.
func (t *tree) folder(name string) error {
	if name == "." || t.made[name] {
		return nil
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	err := t.root.Mkdir(name, 0o755)
	switch {
	case errors.Is(err, os.ErrExist):
		info, err := t.root.Stat(name)
		if err != nil || !info.IsDir() {
			return fmt.Errorf("%.100q is needed as a folder and is something else", name)
		}
	case err != nil:
		return plainly(name, err)
	default:
		if err := errors.Join(t.enters(), t.own(name)); err != nil {
			return err
		}
	}
	if t.made == nil {
		t.made = map[string]bool{}
	}
	t.made[name] = true
	return nil
}

// file writes a file, changed at that time (zero: now). One that is there is
// replaced and not written through, since it may be a link.
func (t *tree) file(name string, mode os.FileMode, changed time.Time, from io.Reader) error {
	if err := t.makeWay(name); err != nil {
		return err
	}
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return plainly(name, err)
	}
	err = t.fill(f, from)
	if err == nil && t.owner != nil {
		err = f.Chown(int(t.owner.UID), int(t.owner.GID))
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err != nil || changed.IsZero() {
		return err
	}
	return t.root.Chtimes(name, changed, changed)
}

// makeWay makes room for something of that name.
func (t *tree) makeWay(name string) error {
	if err := t.enters(); err != nil {
		return err
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	if name == "stdout" || name == "stderr" {
		return fmt.Errorf("%s is what the task writes its output to", name)
	}
	if err := t.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%.100q is there twice and can't be replaced", name)
	}
	delete(t.made, name)
	return nil
}

// chunk is how much is copied between two looks at the context: by the kernel
// alone, without a way through this process, where the file system can.
const chunk = 16 << 20

func (t *tree) fill(f *os.File, from io.Reader) error {
	for {
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		n, err := io.CopyN(f, from, min(chunk, t.left+1))
		if t.left -= n; t.left < 0 {
			return t.full
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// own gives what was made to the task's user.
func (t *tree) own(name string) error {
	if t.owner == nil {
		return nil
	}
	return t.root.Lchown(name, int(t.owner.UID), int(t.owner.GID))
}

// plainly says why a name in a sandbox can't be written.
func plainly(name string, err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%.100q can't be written: %w", name, err)
}
