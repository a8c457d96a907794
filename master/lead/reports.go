package lead

import (
	"slices"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state/trie"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Reports is the last report of every living task, as of one moment. It never
// changes.
type Reports struct {
	tree *trie.Tree[report] // by framework and task
}

// ReportsOf returns given reports.
func ReportsOf(of map[offers.TaskRef]offers.Status) Reports {
	b := newReportBook()
	for ref, s := range of {
		b.set(ref, s)
	}
	return b.reports()
}

// Of returns the last report of a task: what it says of the task, without the
// ids and the address of what it came by.
func (r Reports) Of(ref offers.TaskRef) (offers.Status, bool) {
	if r.tree == nil {
		return offers.Status{}, false
	}
	return r.tree.Get(pathOf(ref)).status()
}

// Len returns how many tasks have reported.
func (r Reports) Len() int {
	if r.tree == nil {
		return 0
	}
	return r.tree.Len()
}

// report is one of them. It is immutable. There is one for each living task, so
// what few of them tell is kept apart.
type report struct {
	ref     offers.TaskRef
	more    *offers.Status // all of it, where it tells more than what follows
	started int64          // Unix nanoseconds, 0 for never
	at      int64          // Unix nanoseconds
	state   uint8          // in plainStates
}

// plainStates are those that a report of them alone may have.
var plainStates = []offers.State{offers.Staging, offers.Starting, offers.Running, offers.Killing, offers.Unreachable}

func newReport(ref offers.TaskRef, s offers.Status) *report {
	plain := offers.Status{State: s.State, Started: s.Started, Time: s.Time}
	s.Task, s.Agent, s.UpdateID, s.Address = "", "", "", ""
	state := slices.Index(plainStates, s.State)
	r := &report{ref: ref, started: nanoseconds(s.Started), at: nanoseconds(s.Time), state: uint8(max(state, 0))}
	tellsMore := s.Reason != "" || s.Message != "" || s.ExitCode != nil || s.Signal != "" || s.Healthy != nil || s.Devices != nil
	if kept, _ := r.status(); tellsMore || state < 0 || !kept.Started.Equal(plain.Started) || !kept.Time.Equal(plain.Time) {
		all := s // so that the others are not made to be dropped
		r.more = &all
	}
	return r
}

// status is nothing of a report that there isn't.
func (r *report) status() (offers.Status, bool) {
	switch {
	case r == nil:
		return offers.Status{}, false
	case r.more != nil:
		return *r.more, true
	}
	return offers.Status{State: plainStates[r.state], Started: moment(r.started), Time: moment(r.at)}, true
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds).UTC()
}

func (r *report) path() trie.Path { return pathOf(r.ref) }

func pathOf(ref offers.TaskRef) trie.Path { return trie.Path{string(ref.Framework), string(ref.Task)} }

// reportBook is the reports as they come. A tree and not a map, because
// readers want them as of one moment again and again: a map of 100,000 tasks
// takes 40 ms to copy, in the goroutine that everybody waits for, and a change
// of the tree takes half a microsecond more.
type reportBook struct {
	txn *trie.Txn[report]
}

func newReportBook() reportBook { return reportBook{trie.New((*report).path).Txn()} }

func (b reportBook) set(ref offers.TaskRef, s offers.Status) { b.txn.Put(newReport(ref, s)) }

func (b reportBook) of(ref offers.TaskRef) (offers.Status, bool) {
	return b.txn.Get(pathOf(ref)).status()
}

func (b reportBook) forget(ref offers.TaskRef) { b.txn.Delete(pathOf(ref)) }

// reports returns the present reports; what changes later copies what it
// touches.
func (b reportBook) reports() Reports { return Reports{b.txn.Commit()} }
