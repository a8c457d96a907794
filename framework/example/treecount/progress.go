package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
)

// progress shows how far the batch is: one line drawn again and again on a
// terminal, elsewhere a plain line every so often. It belongs to the goroutine
// that runs the batch.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	states   map[int]offers.State // by task
	every    time.Duration
	shown    time.Time
}

const barWidth = 30

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, states: map[int]offers.State{}, every: 2 * time.Second}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal, p.every = true, 50*time.Millisecond
	}
	p.show()
	return p
}

func (p *progress) update(u framework.BatchUpdate) {
	p.states[u.Index] = u.Status.State
	if time.Since(p.shown) >= p.every {
		p.show()
	}
}

func (p *progress) end() {
	p.show()
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

func (p *progress) show() {
	p.shown = time.Now()
	done, running, failed := 0, 0, 0
	for _, s := range p.states {
		switch {
		case s == offers.Finished:
			done++
		case s == offers.Dropped:
		case s.Terminal():
			failed++
		default:
			running++
		}
	}
	line := fmt.Sprintf("%d of %d done, %d running, %d waiting", done, p.total, running, p.total-done-running-failed)
	if failed > 0 {
		line += fmt.Sprintf(", %d failed", failed)
	}
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	full := barWidth * (done + failed) / p.total
	fmt.Fprintf(p.out, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), line)
}
