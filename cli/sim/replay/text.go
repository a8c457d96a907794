package replay

import (
	"bytes"
	"fmt"
	"io"
)

// maxLine bounds a line of a file, so that one which never ends is not read on
// and on.
const maxLine = 1 << 20

// lines passes a file on as long as it looks like text of lines. A fault that it
// returns says where in the file it stands.
type lines struct {
	from       io.Reader
	line, size int // lines that ended, bytes of the one that did not
}

// fault is what is wrong with a file at a place of it.
type fault struct {
	line, column int
	says         string
}

func (f *fault) Error() string { return fmt.Sprintf("%d:%d: %s", f.line, f.column, f.says) }

const noText = "this is no text"

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, _, ended := bytes.Cut(rest, []byte{'\n'})
		if at := bytes.IndexByte(line, 0); at >= 0 {
			return 0, &fault{l.line + 1, l.size + at + 1, noText}
		}
		if l.size += len(line); l.size > maxLine {
			return 0, &fault{l.line + 1, maxLine + 1, fmt.Sprintf("the line is longer than %d MiB", maxLine>>20)}
		}
		if !ended {
			break
		}
		l.line, l.size, rest = l.line+1, 0, rest[len(line)+1:]
	}
	return n, err
}
