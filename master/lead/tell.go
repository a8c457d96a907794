package lead

import (
	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// tellUpdate tells those who listen to events how a living task is, if that is
// news. Its end is an event of its own once it is committed.
func (c *Core) tellUpdate(ref offers.TaskRef, s *offers.Status) {
	t := c.state().Task(ref)
	if s.State.Terminal() || t != nil && t.End != nil {
		return
	}
	if last, known := c.delivery.last.of(ref); known && last.State == s.State && same(last.Healthy, s.Healthy) {
		return
	}
	e := events.Event{
		Type: events.TaskUpdated, Time: s.Time, Framework: ref.Framework, Task: ref.Task, Agent: s.Agent,
		State: string(s.State), Reason: s.Reason, Message: s.Message, Healthy: s.Healthy,
	}
	if t != nil {
		e.Role = t.Role
	}
	c.told = append(c.told, e)
}

func same(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
