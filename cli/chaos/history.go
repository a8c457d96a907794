package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// clock is how times are shown.
const clock = "15:04:05.000"

// deed is what kind of entry it is.
type deed string

const (
	registered   deed = "registered"
	submitted    deed = "submitted" // handed to Accept
	unsent       deed = "unsent"    // Accept said that nothing was sent
	accepted     deed = "accepted"
	updated      deed = "updated"
	killAsked    deed = "kill"
	refused      deed = "refused"
	disconnected deed = "disconnected"
	reconnected  deed = "reconnected"
	left         deed = "left"      // closed, to come back
	abandoned    deed = "abandoned" // the framework is left to its end, or ended
	ended        deed = "ended"     // the client by itself
)

// entry is one thing that an author did or was told.
type entry struct {
	At        time.Time          `json:"at"`
	Author    string             `json:"author"`
	Framework offers.FrameworkID `json:"framework,omitempty"`
	Deed      deed               `json:"deed"`
	Task      offers.TaskID      `json:"task,omitempty"`
	State     offers.State       `json:"state,omitempty"`
	Update    offers.UpdateID    `json:"update,omitempty"`
	Reason    string             `json:"reason,omitempty"`
	ExitCode  *int               `json:"exit_code,omitempty"`
	Note      string             `json:"note,omitempty"`
}

func (e entry) String() string {
	out := fmt.Sprintf("%s %-8s %s %-12s", e.At.UTC().Format(clock), e.Author, e.Framework, e.Deed)
	for _, part := range []string{string(e.Task), string(e.State), string(e.Update), e.Reason, e.Note} {
		if part != "" {
			out += " " + part
		}
	}
	return out
}

// recorder is everybody's memory. It is safe for concurrent use.
type recorder struct {
	mu      sync.Mutex
	entries []entry
	offered map[uint64]time.Time // when the first offer of a term came to anybody
	file    *bufio.Writer
	out     *os.File
	failed  error
}

func newRecorder(path string) (*recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &recorder{offered: map[uint64]time.Time{}, out: f, file: bufio.NewWriter(f)}, nil
}

func (r *recorder) add(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = time.Now()
	r.entries = append(r.entries, e)
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("history: %w", err)
	}
}

// offer notes that an offer has come. Its id ends in its term.
func (r *recorder) offer(id offers.OfferID) {
	_, text, _ := strings.Cut(string(id), "-")
	term, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.offered[term]; !there {
		r.offered[term] = time.Now()
	}
}

// firstOffer returns when the first offer of a term after old came.
func (r *recorder) firstOffer(old uint64) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first time.Time
	for term, at := range r.offered {
		if term > old && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}

func (r *recorder) all() []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[:len(r.entries):len(r.entries)]
}

func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range []error{r.failed, r.file.Flush(), r.out.Close()} {
		if err != nil {
			return err
		}
	}
	return nil
}
