package lead

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/master/match"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// devicesKnown takes what an agent said of devices when it registered: what its
// tasks hold, and what it uses.
func (c *Core) devicesKnown(s *Agent) {
	for _, ref := range slices.SortedFunc(maps.Keys(s.known), compareRefs) {
		t := s.known[ref]
		if t.State.Terminal() {
			continue
		}
		c.bound(ref, t.Holding.Devices)
		c.match.TaskHeard(ref)
	}
	if s.usage == nil {
		s.usage = new(wire.Usage)
	}
	c.devicesReported(s, s.usage)
}

// devicesReported takes a report of the use of devices. It is believed as far
// as it can be read; one of a connection that is not registered is late.
func (c *Core) devicesReported(s *Agent, m *wire.Usage) {
	if s.id == "" {
		if s.asked {
			s.usage = m // newer than what it said with its registration, which is not durable yet
		}
		return
	}
	a := c.state().Agent(s.id)
	if a == nil {
		return
	}
	for s.handled < m.Handled && len(s.sent) > 0 {
		c.match.TaskHeard(s.sent[0])
		s.sent = s.sent[1:]
		s.handled++
	}
	uses := make(map[string]match.Use, len(m.Classes))
	for _, name := range slices.Sorted(maps.Keys(m.Classes)) {
		class := m.Classes[name]
		used, err := class.Amounts(len(a.Total.Class(name)))
		if err != nil {
			refuse(s.peer, offers.Errorf(offers.BadMessage, "usage: %.64s: %s", name, err), "")
			continue
		}
		uses[name] = match.Use{Used: used, Unit: class.Unit, Unwell: told(class.Unwell, len(used))}
	}
	c.match.DevicesReported(s.id, uses)
	c.closed(a, m.Closed)
}

// closed takes why an agent is to be offered to nobody for now.
func (c *Core) closed(a *state.Agent, why string) {
	if why != "" && !showable(why) {
		why = unsaid
	}
	if !c.match.AgentClosed(a.ID, strings.Clone(why)) { // the message need not stay for it
		return
	}
	e := events.Event{Type: events.AgentClosed, Time: c.wall(), Agent: a.ID, Name: a.Name, Message: why}
	if why == "" {
		e.Type = events.AgentOpened
	}
	c.told = append(c.told, e)
}

// maxWhy bounds a sentence that is shown.
const maxWhy = 256

// unsaid stands for a reason that can't be shown.
const unsaid = "its agent does not say why"

func showable(why string) bool { return why != "" && len(why) <= maxWhy && offers.Printable(why) }

// told returns why devices are unwell, as it can be shown, of those there are.
func told(unwell map[int]string, devices int) map[int]string {
	var out map[int]string
	for i := range devices {
		why, there := unwell[i]
		if !there {
			continue
		}
		if !showable(why) {
			why = unsaid
		}
		if out == nil {
			out = map[int]string{}
		}
		out[i] = strings.Clone(why)
	}
	return out
}

// bound takes the devices that an agent says it has bound for a task.
func (c *Core) bound(ref offers.TaskRef, devices offers.Devices) {
	if c.match.Rebound(ref, devices) {
		c.note("an agent bound other devices than it was counted on", "task", ref.String())
	}
}

// fitsDevice refuses a demand for a larger part of a device than any device
// has. A class that nobody has is waited for.
func (c *Core) fitsDevice(d offers.Demand) error {
	for _, class := range slices.Sorted(maps.Keys(d.Resources.Devices)) {
		asked, largest := d.Resources.Devices[class].Memory, c.match.LargestDevice(class)
		if largest > 0 && asked > largest {
			return offers.Errorf(offers.BadDemand, "demand %q: devices.%s.memory: %s of one device are asked, and the largest %s there is has %s",
				d.ID, class, offers.FormatSize(asked), class, offers.FormatSize(largest))
		}
	}
	return nil
}
