package main

import (
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// heard deals with one event.
func (a *author) heard(event framework.Event) {
	switch e := event.(type) {
	case framework.Offered:
		for _, o := range e.Offers {
			a.book.offer(o.ID)
			a.offered(o)
		}
	case framework.Accepted:
		for _, id := range e.Tasks {
			a.book.add(entry{Author: a.name, Framework: a.id, Deed: accepted, Task: id})
		}
	case framework.Updated:
		s := e.Status
		a.book.add(entry{Author: a.name, Framework: a.id, Deed: updated, Task: s.Task, State: s.State, Update: s.UpdateID,
			Reason: s.Reason, ExitCode: s.ExitCode, Note: s.Message})
		if s.State.Terminal() {
			delete(a.open, s.Task)
			a.waiting.Store(int64(len(a.open)))
		}
	case framework.Refused:
		a.note(refused, fmt.Sprintf("%s of %v: %v", e.Request, e.Tasks, e.Err))
	case framework.Disconnected:
		a.note(disconnected, fmt.Sprint(e.Err))
	case framework.Reconnected:
		a.note(reconnected, fmt.Sprintf("%s in term %d", e.Master.Name, e.Master.Term))
	}
}

// offered answers an offer: with tasks mostly, now and then with no, and now
// and then not at all.
func (a *author) offered(o wire.Offer) {
	room := min(framework.Units(o.Resources, unit(a.gpu)), most-len(a.open))
	whim := a.random.IntN(100)
	switch {
	case a.manner == probe && !a.calm() || whim < 4:
		return // it expires
	case a.calm() || room <= 0 || whim < 10:
		a.client.Decline(time.Second, o.ID)
		return
	}
	var tasks []offers.Task
	for range room {
		a.number++
		id := offers.TaskID(fmt.Sprintf("%s-%d", a.name, a.number))
		task, killed := a.work.task(id, unit(a.gpu), a.random)
		tasks = append(tasks, task)
		a.open[id] = &launched{}
		if killed > 0 {
			a.open[id].killAt = time.Now().Add(killed)
		}
		a.book.add(entry{Author: a.name, Framework: a.id, Deed: submitted, Task: id, Note: string(o.ID) + " on " + o.Agent.Name})
	}
	a.waiting.Store(int64(len(a.open)))
	if err := a.client.Accept([]offers.OfferID{o.ID}, tasks...); err != nil {
		for _, t := range tasks {
			a.book.add(entry{Author: a.name, Framework: a.id, Deed: unsent, Task: t.ID, Note: err.Error()})
			delete(a.open, t.ID)
		}
		a.waiting.Store(int64(len(a.open)))
	}
}
