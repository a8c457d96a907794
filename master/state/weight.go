package state

import "github.com/ringmaster-project/ringmaster/offers"

// Weight estimates the bytes of what callers can make large in a command (a
// task's command line, environment and labels, a stored value, what agents and
// frameworks say about themselves), so that batches can be cut before they are
// encoded.
func (c *Command) Weight() int {
	const least = 256
	switch {
	case c.Put != nil:
		return least + len(c.Put.Value)
	case c.Launch != nil:
		return least + ofTask(&c.Launch.Task.Spec)
	case c.EndTask != nil:
		s := &c.EndTask.Status
		return least + len(s.Message) + len(s.Reason) + ofGrants(s.Devices)
	case c.RegisterAgent != nil:
		return least + ofAgent(&c.RegisterAgent.Agent)
	case c.RegisterFramework != nil:
		return least + ofTexts(c.RegisterFramework.Capabilities) + ofMap(c.RegisterFramework.Labels)
	default:
		return least
	}
}

// each is about what the length of a text takes, and a small number.
const each = 8

func ofTexts(list []string) (n int) {
	for _, text := range list {
		n += len(text) + each
	}
	return n
}

func ofMap(m map[string]string) (n int) {
	for k, v := range m {
		n += len(k) + len(v) + each
	}
	return n
}

func ofTask(t *offers.Task) int {
	n := ofMap(t.Labels) + ofCommand(t.Command)
	if c := t.Container; c != nil {
		n += len(c.Image) + ofTexts(c.Entrypoint) + each*len(c.Ports)
		for _, m := range c.Mounts {
			n += len(m.Source) + len(m.Target) + each
		}
	}
	for i := range t.Artifacts {
		n += len(t.Artifacts[i].URI) + len(t.Artifacts[i].SHA256) + len(t.Artifacts[i].Dest) + each
	}
	if h := t.Health; h != nil {
		n += ofCommand(h.Command)
		if h.HTTP != nil {
			n += len(h.HTTP.Path)
		}
	}
	return n
}

func ofCommand(c *offers.Command) int {
	if c == nil {
		return 0
	}
	return len(c.Shell) + ofTexts(c.Argv) + ofMap(c.Env)
}

func ofGrants(byClass map[string][]offers.Grant) (n int) {
	for _, grants := range byClass {
		for i := range grants {
			n += len(grants[i].ID) + 3*each
		}
	}
	return n
}

func ofAgent(a *offers.Agent) int {
	n := ofMap(a.Attributes) + 64*len(a.Policies) + each*len(a.Total.Ports)
	for _, c := range a.Total.Classes {
		for i := range c.Devices {
			d := &c.Devices[i]
			n += len(d.ID) + len(d.CDI) + ofMap(d.Attributes) + ofTexts(d.Nodes) + 3*each
			for id := range d.Links {
				n += len(id) + each
			}
		}
	}
	return n
}
