package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// member is one entry of an archive under test.
type member struct {
	name, content string
	kind          byte // of tar; 0 means a file
	mode          int64
}

var changed = time.Unix(1_000_000_000, 0)

func tarOf(t testing.TB, list ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range list {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Mode: m.mode, ModTime: changed}
		switch m.kind {
		case 0:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(m.content))
		default:
			h.Linkname = m.content
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if m.kind == 0 {
			if _, err := w.Write([]byte(m.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t testing.TB, list ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range list {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: changed}
		mode := fs.FileMode(m.mode)
		switch m.kind {
		case tar.TypeSymlink:
			mode |= fs.ModeSymlink
		case tar.TypeDir:
			mode |= fs.ModeDir
		case tar.TypeFifo:
			mode |= fs.ModeNamedPipe
		case tar.TypeChar:
			mode |= fs.ModeDevice | fs.ModeCharDevice
		}
		h.SetMode(mode)
		if m.kind == tar.TypeDir {
			h.Name += "/"
		}
		f, err := w.CreateHeader(h)
		if err == nil && m.kind != tar.TypeDir {
			_, err = f.Write([]byte(m.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var errFull = errors.New("full")

// unpack unpacks into dir/sandbox; dir holds a file that no archive may touch.
func unpack(t testing.TB, dir string, data []byte, dest string, bytesLeft int64, entries int) error {
	t.Helper()
	sandbox := filepath.Join(dir, "sandbox")
	for _, path := range []string{filepath.Join(dir, "canary"), filepath.Join(sandbox, "stdout"), filepath.Join(sandbox, "stderr")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(sandbox)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := &tree{ctx: context.Background(), root: root, left: bytesLeft, full: errFull, entries: entries}
	return u.extract(bytes.NewReader(data), int64(len(data)), dest)
}

// untouched holds that nothing outside of the sandbox has changed, that the
// task's output files are what they were, and that no link leads out.
func untouched(t testing.TB, dir string) (written int64) {
	t.Helper()
	for _, path := range []string{"canary", "sandbox/stdout", "sandbox/stderr"} {
		info, err := os.Lstat(filepath.Join(dir, path))
		data, _ := os.ReadFile(filepath.Join(dir, path))
		if err != nil || !info.Mode().IsRegular() || string(data) != "mine" {
			t.Fatalf("%s is %q, %v now", path, data, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Fatalf("beside the sandbox are %v", list)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && filepath.Base(path) != "stdout" && filepath.Base(path) != "stderr" {
			written += info.Size()
		}
		if info.Mode()&^(fs.ModePerm|fs.ModeDir|fs.ModeSymlink) != 0 {
			t.Fatalf("%s has mode %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// linksInside holds that all symbolic links of a whole unpacked archive stay inside.
func linksInside(t testing.TB, dir string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSymlink {
			if to, err := filepath.EvalSymlinks(path); err == nil && to != real && !strings.HasPrefix(to, real+"/") {
				t.Fatalf("%s leads to %s", path, to)
			}
		}
		return nil
	})
}

func TestExtract(t *testing.T) {
	list := []member{
		{name: "./", kind: tar.TypeDir, mode: 0o755}, {name: "d", kind: tar.TypeDir, mode: 0o555}, {name: "d/run.sh", content: "echo", mode: 0o4755},
		{name: "deep/er/file", content: "x", mode: 0}, {name: "d/link", content: "../deep/er/file", kind: tar.TypeSymlink, mode: 0o777},
		{name: "dangling", content: "nowhere", kind: tar.TypeSymlink, mode: 0o777}, {name: "twice", content: "old", mode: 0o600}, {name: "twice", content: "new", mode: 0o640},
	}
	hard := append(list, member{name: "hard", content: "d/run.sh", kind: tar.TypeLink})
	for name, data := range map[string][]byte{"tar": tarOf(t, hard...), "tar.gz": zipped(t, tarOf(t, hard...)), "zip": zipOf(t, list[1:]...)} {
		for _, dest := range []string{".", "a/b"} {
			dir := t.TempDir()
			if err := unpack(t, dir, data, dest, 1000, 100); err != nil {
				t.Errorf("%s to %s: %v", name, dest, err)
				continue
			}
			untouched(t, dir)
			linksInside(t, dir)
			at := filepath.Join(dir, "sandbox", dest)
			for file, want := range map[string]string{"d/run.sh": "echo", "deep/er/file": "x", "d/link": "x", "twice": "new"} {
				if data, err := os.ReadFile(filepath.Join(at, file)); string(data) != want {
					t.Errorf("%s to %s: %s is %q, %v", name, dest, file, data, err)
				}
			}
			info, err := os.Stat(filepath.Join(at, "d/run.sh"))
			if err != nil || info.Mode() != 0o755 || !info.ModTime().Equal(changed) {
				t.Errorf("%s to %s: %v, %v, %v", name, dest, info.Mode(), info.ModTime(), err)
			}
			if hard, err := os.Stat(filepath.Join(at, "hard")); name != "zip" && (err != nil || !os.SameFile(info, hard)) {
				t.Errorf("%s to %s: the hard link is %v, %v", name, dest, hard, err)
			}
		}
	}
}

func TestExtractRefuses(t *testing.T) {
	file := member{name: "f", content: "x"}
	for name, row := range map[string]struct {
		words string
		list  []member
	}{
		"climbing":         {"leads out", []member{file, {name: "../x"}}},
		"climbing later":   {"leads out", []member{{name: "a/../../x"}}},
		"absolute":         {"leads out", []member{{name: "/x"}}},
		"link out":         {"leads out", []member{{name: "l", content: "../canary", kind: tar.TypeSymlink}}},
		"absolute link":    {"leads out", []member{{name: "l", content: "/etc", kind: tar.TypeSymlink}}},
		"deep link out":    {"leads out", []member{{name: "a/b/l", content: "../../../x", kind: tar.TypeSymlink}}},
		"chain out":        {"leads out", []member{{name: "p/q/a", content: "../..", kind: tar.TypeSymlink}, {name: "l", content: "p/q/a/..", kind: tar.TypeSymlink}}},
		"loop":             {"leads out", []member{{name: "l", content: "l", kind: tar.TypeSymlink}}},
		"fifo":             {"kind that is not unpacked", []member{{name: "x", kind: tar.TypeFifo}}},
		"device":           {"kind that is not unpacked", []member{{name: "x", kind: tar.TypeChar}}},
		"output":           {"writes its output", []member{{name: "stdout", content: "x"}}},
		"output by a link": {"writes its output", []member{{name: "./stderr", content: "f", kind: tar.TypeSymlink}}},
		"file as folder":   {"needed as a folder", []member{file, {name: "f/x"}}},
		"folder replaced":  {"can't be replaced", []member{{name: "d/x"}, {name: "d", content: "x"}}},
		"too much":         {"full", []member{{name: "big", content: strings.Repeat("x", 1001)}}},
		"too much in all":  {"full", []member{{name: "a", content: strings.Repeat("x", 600)}, {name: "b", content: strings.Repeat("x", 600)}}},
		"too many":         {"more files", make([]member, 101)},
	} {
		for i := range row.list {
			if row.list[i].name == "" {
				row.list[i].name = strings.Repeat("x", i+1)
			}
		}
		for kind, data := range map[string][]byte{"tar": tarOf(t, row.list...), "zip": zipOf(t, row.list...)} {
			dir := t.TempDir()
			if err := unpack(t, dir, data, ".", 1000, 100); err == nil || !strings.Contains(err.Error(), row.words) {
				t.Errorf("%s in a %s: %v", name, kind, err)
			}
			untouched(t, dir)
		}
	}
	for name, target := range map[string]string{"hard link out": "../canary", "hard link to nothing": "absent"} {
		dir := t.TempDir()
		if err := unpack(t, dir, tarOf(t, member{name: "h", content: target, kind: tar.TypeLink}), ".", 1000, 100); err == nil || !strings.Contains(err.Error(), "leads") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestThroughLinks holds that what an archive writes through its own links
// stays in the sandbox, also where something else has put a link.
func TestThroughLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sandbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "sandbox", "up")); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]member{{{name: "up/canary", content: "evil"}}, {{name: "up/new", kind: tar.TypeDir}}, {{name: "f", content: "x"}, {name: "up/hard", content: "f", kind: tar.TypeLink}}} {
		if err := unpack(t, dir, tarOf(t, list...), ".", 1000, 100); err == nil {
			t.Errorf("%v is unpacked", list)
		}
		untouched(t, dir)
	}
}

func TestDamagedArchives(t *testing.T) {
	whole := tarOf(t, member{name: "f", content: strings.Repeat("some content ", 500)})
	zip, gz := zipOf(t, member{name: "f", content: "content"}), zipped(t, whole)
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("<html>404</html>"), "one byte": {'P'}, "cut tar": whole[:900], "cut gzip": gz[:len(gz)/2], "gzip of text": zipped(t, []byte("text")),
		"gzip head": {0x1f, 0x8b}, "cut zip": zip[:len(zip)-10], "zip head": []byte("PK\x03\x04"), "flipped gzip": append(append(bytes.Clone(gz[:20]), gz[20]^0xff), gz[21:]...),
	} {
		dir := t.TempDir()
		err := unpack(t, dir, data, ".", 1<<20, 100)
		if err == nil || !strings.Contains(err.Error(), "not a whole tar, tar.gz or zip") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBombs holds that what unpacks to far more than it is ends at the bound.
func TestBombs(t *testing.T) {
	var one bytes.Buffer
	if err := tar.NewWriter(&one).WriteHeader(&tar.Header{Name: "f", PAXRecords: map[string]string{"comment": "x"}}); err != nil {
		t.Fatal(err)
	}
	headers := bytes.Repeat(one.Bytes()[:1024], 20_000) // which lead to no file
	for name, data := range map[string][]byte{
		"headers": zipped(t, headers),
		"zeros":   zipped(t, tarOf(t, member{name: "z", content: strings.Repeat("\x00", 10<<20)})),
		"zip":     zipOf(t, member{name: "z", content: strings.Repeat("\x00", 10<<20)}),
	} {
		dir := t.TempDir()
		if err := unpack(t, dir, data, ".", 1<<20, 100); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		if n := untouched(t, dir); n > 1<<20+1 {
			t.Errorf("%s: %d bytes are written", name, n)
		}
	}
}

func FuzzExtract(f *testing.F) {
	list := []member{{name: "d", kind: tar.TypeDir, mode: 0o755}, {name: "d/f", content: "x", mode: 0o4755}, {name: "d/l", content: "../d", kind: tar.TypeSymlink}, {name: "d/l/g", content: "y"}}
	f.Add(tarOf(f, append(list, member{name: "h", content: "d/f", kind: tar.TypeLink})...))
	f.Add(zipOf(f, list...))
	f.Add(zipped(f, tarOf(f, list...)))
	f.Add(tarOf(f, member{name: "../canary", content: "x"}, member{name: "l", content: "/etc", kind: tar.TypeSymlink}))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		const most = 1 << 16
		err := unpack(t, dir, data, "dest", most, 50)
		if n := untouched(t, dir); n > 50*most {
			t.Fatalf("%d bytes are written", n)
		}
		if err == nil {
			linksInside(t, dir)
		} else if strings.Contains(err.Error(), "\n") && !strings.Contains(err.Error(), `\n`) {
			t.Fatalf("not one sentence: %v", err)
		}
	})
}
