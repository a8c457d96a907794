package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress is a bar on a terminal, drawn once a run takes longer than a moment
// and wiped when it is over. Safe for concurrent use.
type progress struct {
	out   io.Writer // nil where nobody looks
	total int

	mu    sync.Mutex
	done  int
	begun time.Time
	drawn time.Time
}

const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
	progressCells = 30
)

func newProgress(out io.Writer, total int) *progress {
	p := &progress{total: total, begun: time.Now()}
	if f, isFile := out.(*os.File); isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.out = out
	}
	return p
}

// add says that n more arrivals are over.
func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := time.Now()
	if p.out == nil || now.Sub(p.begun) < progressAfter || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	fmt.Fprintf(p.out, "\r\x1b[K%s", progressLine(p.done, p.total, now.Sub(p.begun)))
}

// end wipes the bar.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.drawn.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// progressLine draws how far it is, and how long it will go on at the same pace.
func progressLine(done, total int, spent time.Duration) string {
	part := float64(done) / float64(max(total, 1))
	full := min(int(part*progressCells), progressCells)
	left := ""
	if part > 0.02 {
		left = fmt.Sprintf("  %s left", (time.Duration(float64(spent)/part) - spent).Round(time.Second))
	}
	return fmt.Sprintf("%s%s %3.0f %%  %s of %s arrivals%s", strings.Repeat("█", full), strings.Repeat("░", progressCells-full),
		100*part, grouped(done), grouped(total), left)
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
