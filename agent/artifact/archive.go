package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	maxTarget    = 4096     // bytes of a link's target
	maxDirectory = 64 << 20 // bytes of a zip's list of files, which is read whole
)

// unpacker writes an archive's content beneath a folder of a sandbox.
type unpacker struct {
	*tree
	dir   string
	links []string // symbolic ones; looked at when everything is there
}

// extract unpacks a tar, tar.gz or zip, whichever it is by its content; names
// of archives lie too often.
func (t *tree) extract(f io.ReaderAt, size int64, dir string) error {
	if err := t.folder(dir); err != nil {
		return err
	}
	u := &unpacker{tree: t, dir: dir}
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	whole := io.NewSectionReader(f, 0, size)
	switch {
	case bytes.HasPrefix(head[:n], []byte("PK")):
		err = u.zip(f, size)
	case bytes.HasPrefix(head[:n], []byte{0x1f, 0x8b}):
		var unzipped *gzip.Reader
		if unzipped, err = gzip.NewReader(whole); err == nil {
			err = u.tar(unzipped)
		}
	default:
		err = u.tar(whole)
	}
	if err == nil {
		err = u.checkLinks()
	}
	return damage(err)
}

// damage says plainly what the readers of archives say of a damaged one.
func damage(err error) error {
	var corrupt flate.CorruptInputError
	broken := errors.As(err, &corrupt)
	for _, known := range []error{tar.ErrHeader, gzip.ErrHeader, gzip.ErrChecksum, zip.ErrFormat, zip.ErrChecksum, zip.ErrAlgorithm, io.ErrUnexpectedEOF, io.EOF} {
		broken = broken || errors.Is(err, known)
	}
	if broken {
		return fmt.Errorf("it is not a whole tar, tar.gz or zip: %s", oneLine(err.Error()))
	}
	return err
}

// bounded ends a stream that unpacks to far more than may be written: headers
// that lead to no file are not counted otherwise.
type bounded struct {
	from io.Reader
	left int64
	full error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.full
	}
	return n, err
}

func (u *unpacker) tar(from io.Reader) error {
	in := tar.NewReader(&bounded{from: from, left: u.left + 4096*int64(u.entries) + 1<<20, full: u.full})
	for first := true; ; first = false {
		h, err := in.Next()
		if err == io.EOF && !first {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := u.tarEntry(h, in); err != nil {
			return err
		}
	}
}

func (u *unpacker) tarEntry(h *tar.Header, in io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return u.enters()
	}
	name, err := u.inside(h.Name)
	if err != nil {
		return err
	}
	mode := os.FileMode(h.Mode) & 0o777
	switch h.Typeflag {
	case tar.TypeDir:
		return u.directory(name)
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		return u.file(name, mode|0o600, h.ModTime, in)
	case tar.TypeSymlink:
		return u.symlink(name, h.Linkname)
	case tar.TypeLink:
		return u.hardlink(name, h.Linkname)
	}
	return fmt.Errorf("%.100q in it is a device, a pipe or of a kind that is not unpacked", h.Name)
}

func (u *unpacker) zip(f io.ReaderAt, size int64) error {
	front := &counted{from: f, left: maxDirectory}
	in, err := zip.NewReader(front, size)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	front.left = -1 // the files themselves are bounded where they are written
	if len(in.File) > u.entries {
		return errEntries
	}
	for _, entry := range in.File {
		if err := u.zipEntry(entry); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipEntry(entry *zip.File) error {
	name, err := u.inside(entry.Name)
	if err != nil {
		return err
	}
	mode := entry.Mode()
	switch {
	case entry.Flags&1 != 0:
		return fmt.Errorf("%.100q in it is encrypted", entry.Name)
	case mode.IsDir():
		return u.directory(name)
	case !mode.IsRegular() && mode.Type() != os.ModeSymlink:
		return fmt.Errorf("%.100q in it is a device, a pipe or of a kind that is not unpacked", entry.Name)
	}
	in, err := entry.Open()
	if err != nil {
		return fmt.Errorf("%.100q: %w", entry.Name, err)
	}
	defer in.Close()
	if mode.IsRegular() {
		if mode.Perm() == 0 { // written by a program that knows no modes
			mode = 0o644
		}
		return u.file(name, mode.Perm()|0o600, entry.Modified, in)
	}
	target, err := io.ReadAll(io.LimitReader(in, maxTarget+1))
	if err != nil {
		return fmt.Errorf("%.100q: %w", entry.Name, err)
	}
	return u.symlink(name, string(target))
}

// counted bounds what is read of a zip before its list of files is known.
type counted struct {
	from io.ReaderAt
	left int64 // -1: no bound any more
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.from.ReadAt(p, at)
	if c.left < 0 {
		return n, err
	}
	if c.left = c.left - int64(n); c.left < 0 {
		c.left = 0
		return 0, errEntries
	}
	return n, err
}

// inside returns where a name of the archive goes. One that would lead out is
// an error and not bent, because such an archive means no good.
func (u *unpacker) inside(name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(name) || climbs(clean) || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%.100q in it leads out of its folder", name)
	}
	return path.Join(u.dir, clean), nil
}

func climbs(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

func (u *unpacker) directory(name string) error {
	if err := u.enters(); err != nil {
		return err
	}
	return u.folder(name)
}

// symlink makes a symbolic link that stays inside, as far as its own words go.
func (u *unpacker) symlink(name, target string) error {
	within := strings.TrimPrefix(strings.TrimPrefix(name, u.dir), "/")
	if u.dir == "." {
		within = name
	}
	if target == "" || len(target) > maxTarget || path.IsAbs(target) || climbs(path.Join(path.Dir(within), target)) || strings.ContainsRune(target, 0) {
		return fmt.Errorf("the link %.100q in it leads out of its folder", name)
	}
	if err := u.makeWay(name); err != nil {
		return err
	}
	if err := u.root.Symlink(target, name); err != nil {
		return plainly(name, err)
	}
	u.links = append(u.links, name)
	return u.own(name)
}

// hardlink makes a second name of a file that the archive brought before.
func (u *unpacker) hardlink(name, target string) error {
	old, err := u.inside(target)
	if err != nil {
		return err
	}
	if old == name {
		return nil
	}
	if err := u.makeWay(name); err != nil {
		return err
	}
	if err := u.root.Link(old, name); err != nil {
		return fmt.Errorf("the link %.100q in it leads to nothing", name)
	}
	return nil
}

// checkLinks finds what no single link shows: links that lead out of the
// sandbox through others. One that leads to nothing is no harm.
func (u *unpacker) checkLinks() error {
	slices.Sort(u.links)
	for _, name := range slices.Compact(u.links) {
		if _, err := u.root.Stat(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the link %.100q in it leads out of its folder", name)
		}
	}
	return nil
}
