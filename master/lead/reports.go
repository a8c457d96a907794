package lead

import (
	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Reports is the last report of every living task, as of one moment. It never
// changes.
type Reports struct {
	tree *iradix.Tree[offers.Status] // by framework and task
}

// ReportsOf returns given reports.
func ReportsOf(of map[offers.TaskRef]offers.Status) Reports {
	b := newReportBook()
	for ref, s := range of {
		b.set(ref, s)
	}
	return b.reports()
}

// Of returns the last report of a task.
func (r Reports) Of(ref offers.TaskRef) (offers.Status, bool) {
	if r.tree == nil {
		return offers.Status{}, false
	}
	return r.tree.Get(reportKey(ref))
}

// Len returns how many tasks have reported.
func (r Reports) Len() int {
	if r.tree == nil {
		return 0
	}
	return r.tree.Len()
}

// reportBook is the reports as they come. A tree and not a map, because
// readers want them as of one moment again and again: a map of 100,000 tasks
// takes 40 ms to copy, in the goroutine that everybody waits for, and a change
// of the tree takes half a microsecond more.
type reportBook struct {
	txn *iradix.Txn[offers.Status]
}

func newReportBook() reportBook { return reportBook{iradix.New[offers.Status]().Txn()} }

func (b reportBook) set(ref offers.TaskRef, s offers.Status) { b.txn.Insert(reportKey(ref), s) }

func (b reportBook) of(ref offers.TaskRef) (offers.Status, bool) { return b.txn.Get(reportKey(ref)) }

func (b reportBook) forget(ref offers.TaskRef) { b.txn.Delete(reportKey(ref)) }

// reports returns the present reports; what changes later copies what it
// touches.
func (b reportBook) reports() Reports { return Reports{b.txn.CommitOnly()} }

// reportKey joins the ids by a zero byte, which no id holds.
func reportKey(ref offers.TaskRef) []byte {
	key := make([]byte, 0, len(ref.Framework)+1+len(ref.Task))
	return append(append(append(key, ref.Framework...), 0), ref.Task...)
}
