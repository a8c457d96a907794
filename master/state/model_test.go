package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// model is the state as one would write it with maps and loops: no index, no
// sharing. It knows nothing of the bounds of histories, which have tests of
// their own.
type model struct {
	agents     map[offers.AgentID]Agent
	frameworks map[offers.FrameworkID]Framework
	roles      map[offers.Role]offers.RoleSettings
	tasks      map[offers.TaskRef]TaskRecord
	values     map[string]Entry // by framework/key
	floors     map[offers.FrameworkID]uint64

	ended, givenAgents, givenFrameworks int

	// What the latest command ended, for its result.
	lost offers.AgentID
	over []string
}

func newModel() *model {
	return &model{
		agents: map[offers.AgentID]Agent{}, frameworks: map[offers.FrameworkID]Framework{},
		roles: map[offers.Role]offers.RoleSettings{}, tasks: map[offers.TaskRef]TaskRecord{}, values: map[string]Entry{},
		floors: map[offers.FrameworkID]uint64{},
	}
}

func (m *model) clone() *model {
	c := *m
	c.agents, c.frameworks, c.roles = maps.Clone(m.agents), maps.Clone(m.frameworks), maps.Clone(m.roles)
	c.tasks, c.values, c.floors = maps.Clone(m.tasks), maps.Clone(m.values), maps.Clone(m.floors)
	return &c
}

// replacing is what m, a pinned state, becomes in the place of now.
func (m *model) replacing(old *model, now time.Time) *model {
	c := m.clone()
	c.givenAgents, c.givenFrameworks = max(c.givenAgents, old.givenAgents), max(c.givenFrameworks, old.givenFrameworks)
	for ref, t := range c.tasks {
		t.Restored = t.Restored || t.End == nil
		c.tasks[ref] = t
	}
	for id, f := range c.frameworks {
		if !f.Deadline.IsZero() && !f.Deadline.After(now) {
			f.Deadline = now.Add(f.FailoverTimeout)
			c.frameworks[id] = f
		}
		if was, known := old.frameworks[id]; !known || was.Removed {
			c.floors[id] = max(c.floors[id], uint64(now.UnixMilli()))
		} else {
			c.floors[id] = max(c.floors[id], old.highest(id))
		}
	}
	return c
}

// highest is above no version that a key of the framework ever had.
func (m *model) highest(id offers.FrameworkID) uint64 {
	top := m.floors[id]
	for at, e := range m.values {
		if strings.HasPrefix(at, string(id)+"/") {
			top = max(top, e.Version)
		}
	}
	return top
}

// apply returns the code of the failure, "" for none.
func (m *model) apply(c Command) offers.Code {
	m.lost, m.over = "", nil
	switch {
	case c.RegisterAgent != nil:
		return m.registerAgent(c.RegisterAgent)
	case c.SetAgentState != nil:
		return m.setAgentState(c.SetAgentState)
	case c.RegisterFramework != nil:
		r := c.RegisterFramework
		id, role, since, times := r.ID, r.Role, r.Time, uint64(1)
		if id == "" {
			m.givenFrameworks++
			id = offers.FrameworkID(fmt.Sprintf("f%05d-c0de", m.givenFrameworks))
		} else if code := m.there(id); code != "" {
			return code
		} else {
			role, since, times = m.frameworks[id].Role, m.frameworks[id].Registered, m.frameworks[id].Registrations+1
		}
		m.frameworks[id] = Framework{ID: id, Name: r.Name, Role: role, Labels: r.Labels, FailoverTimeout: r.FailoverTimeout, Registered: since, Registrations: times}
	case c.DisconnectFramework != nil:
		f := m.frameworks[c.DisconnectFramework.ID]
		if code := m.there(c.DisconnectFramework.ID); code != "" {
			return code
		}
		if c.DisconnectFramework.Deadline.IsZero() {
			return offers.BadMessage
		}
		of := c.DisconnectFramework.Of
		if (of == 0 || of == f.Registrations) && (f.Deadline.IsZero() || c.DisconnectFramework.Deadline.Before(f.Deadline)) {
			f.Deadline = c.DisconnectFramework.Deadline
			m.frameworks[f.ID] = f
		}
	case c.RemoveFramework != nil:
		return m.remove(c.RemoveFramework)
	case c.Launch != nil:
		return m.launch(c.Launch.Task)
	case c.SetRole != nil:
		return m.setRole(c.SetRole)
	case c.EndTask != nil:
		if s := c.EndTask.Status.State; s == offers.Running || s == offers.Unreachable || s == "" {
			return offers.BadMessage
		}
		t, ok := m.tasks[c.EndTask.Ref]
		if st := c.EndTask.Status; ok && t.End == nil {
			if st.Agent != "" && st.Agent != t.Agent {
				return offers.UnknownTask
			}
			m.end(t, st)
		}
	case c.Acknowledge != nil:
		if t, ok := m.tasks[c.Acknowledge.Ref]; ok && t.End != nil && (c.Acknowledge.UpdateID == "" || c.Acknowledge.UpdateID == t.End.UpdateID) {
			t.Acknowledged = true
			m.tasks[t.Ref()] = t
		}
	case c.KillTask != nil:
		return m.kill(c.KillTask)
	case c.Put != nil:
		return m.write(c.Put.Framework, c.Put.Key, c.Put.Version, &c.Put.Value)
	case c.Delete != nil:
		return m.write(c.Delete.Framework, c.Delete.Key, c.Delete.Version, nil)
	}
	return ""
}

func (m *model) there(id offers.FrameworkID) offers.Code {
	f, ok := m.frameworks[id]
	var n int
	fmt.Sscanf(string(id), "f%05d-c0de", &n)
	switch {
	case !ok && n > m.givenFrameworks:
		return offers.UnknownFramework
	case !ok: // given, and taken back with the rest by a restore
		return offers.FrameworkRemoved
	case f.Removed:
		return offers.FrameworkRemoved
	}
	return ""
}

func (m *model) registerAgent(c *RegisterAgent) offers.Code {
	in, at := c.Agent, c.Time
	if in.Name == "" {
		return offers.BadMessage
	}
	var other *Agent
	for _, a := range m.agents {
		if a.Name == in.Name && a.State != offers.AgentGone {
			other = &a
		}
	}
	if in.ID == "" {
		if other != nil {
			m.lose(*other, at)
		}
		m.givenAgents++
		in.ID = offers.AgentID(fmt.Sprintf("a%05d-c0de", m.givenAgents))
		m.agents[in.ID] = Agent{Agent: in, State: offers.AgentActive, Registered: at, Registrations: 1, Since: at, Token: c.Next}
		return ""
	}
	a, ok := m.agents[in.ID]
	if !ok || a.State == offers.AgentGone {
		return offers.UnknownAgent
	}
	if other != nil && other.ID != in.ID {
		return offers.Forbidden
	}
	m.examine(&a, c)
	a.Registrations++
	if a.Agent = in; a.State == offers.AgentUnreachable {
		a.State, a.Resume, a.Since = a.Resume, "", at
	}
	m.agents[in.ID] = a
	return ""
}

// examine finds a new run of an agent that may not know all that ran.
func (m *model) examine(a *Agent, c *RegisterAgent) {
	known := a.Token
	a.Token = c.Next
	switch {
	case known == "" || known == c.Have:
		a.Older = false
	case known == c.Next: // as it was told, if it heard
	case !c.Agent.Started.Equal(a.Started):
		a.Older = true
	}
	if c.Agent.Started.Equal(a.Started) {
		return
	}
	for ref, t := range m.tasks {
		if t.Agent == a.ID && t.End == nil && (a.Older || c.Doubt) {
			t.Doubtful = true
			m.tasks[ref] = t
		}
	}
}

func (m *model) lose(a Agent, at time.Time) {
	var living []TaskRecord
	for _, t := range m.tasks {
		if t.Agent == a.ID && t.End == nil {
			living = append(living, t)
		}
	}
	slices.SortFunc(living, func(a, b TaskRecord) int { return cmp.Compare(a.Ref().String(), b.Ref().String()) })
	for _, t := range living {
		m.end(t, offers.Status{State: offers.Gone, Reason: offers.ReasonAgentLost, Message: "agent " + a.Name + " is gone", Time: at})
	}
	m.ended++
	m.lost = a.ID
	a.State, a.Resume, a.Since, a.Ended = offers.AgentGone, "", at, uint64(m.ended)
	m.agents[a.ID] = a
}

func (m *model) setAgentState(c *SetAgentState) offers.Code {
	a, ok := m.agents[c.ID]
	if !ok || a.State == offers.AgentGone && c.State != offers.AgentGone {
		return offers.UnknownAgent
	}
	was, drain := a.State, a.State
	if was == offers.AgentUnreachable {
		drain = a.Resume
	}
	busy := false
	for _, t := range m.tasks {
		busy = busy || t.Agent == a.ID && t.End == nil
	}
	switch {
	case c.State == was:
		return ""
	case c.State == "asleep":
		return offers.BadMessage
	case c.State == offers.AgentGone:
		m.lose(a, c.Time)
		return ""
	case c.State == offers.AgentActive && was == offers.AgentUnreachable:
		a.Resume = offers.AgentActive
	case c.State == offers.AgentActive:
		a.State = offers.AgentActive
	case c.State == offers.AgentUnreachable:
		a.State, a.Resume = offers.AgentUnreachable, was
		a.Absences++
	case c.State == offers.AgentDrained && (drain == offers.AgentActive || busy):
		return offers.BadMessage
	case c.State == offers.AgentDraining && drain == offers.AgentDrained:
	case was == offers.AgentUnreachable:
		a.Resume = c.State
	default:
		a.State = c.State
	}
	if c.Of > 0 && c.Of != a.Registrations {
		return ""
	}
	if a.State != was {
		a.Since = c.Time
	}
	m.agents[a.ID] = a
	return ""
}

func (m *model) launch(t TaskRecord) offers.Code {
	if t.Spec.ID == "" || t.Spec.ID == ".." {
		return offers.BadTask
	}
	if code := m.there(t.Framework); code != "" {
		return code
	}
	old, known := m.tasks[t.Ref()]
	if known && !old.Acknowledged {
		return offers.TaskIDInUse
	}
	if m.agents[t.Agent].State != offers.AgentActive {
		return offers.OfferGone
	}
	t.Kill, t.End, t.Acknowledged, t.Ended, t.Restored, t.Doubtful = nil, nil, false, 0, false, false
	t.Absences = m.agents[t.Agent].Absences
	m.tasks[t.Ref()] = t
	return ""
}

func (m *model) end(t TaskRecord, st offers.Status) {
	m.ended++
	st.Task, st.Agent = t.Spec.ID, t.Agent
	if st.UpdateID == "" {
		st.UpdateID = offers.UpdateID(fmt.Sprint("m-", m.ended))
	}
	f := m.frameworks[t.Framework]
	t.End, t.Ended, t.Acknowledged = &st, uint64(m.ended), f.Removed
	m.tasks[t.Ref()] = t
	m.over = append(m.over, t.Ref().String()+" "+string(st.State))
	m.settle(f)
}

// settle numbers a removed framework once no task of it lives.
func (m *model) settle(f Framework) {
	for _, t := range m.tasks {
		if t.Framework == f.ID && t.End == nil {
			return
		}
	}
	if f.Removed {
		m.ended++
		f.Ended = uint64(m.ended)
		m.frameworks[f.ID] = f
	}
}

func (m *model) remove(c *RemoveFramework) offers.Code {
	f, ok := m.frameworks[c.ID]
	if !ok {
		return m.there(c.ID)
	}
	if f.Removed || c.Overdue && (f.Deadline.IsZero() || f.Deadline.After(c.Time)) {
		return ""
	}
	f.Removed, f.Deadline = true, time.Time{}
	m.frameworks[f.ID] = f
	maps.DeleteFunc(m.values, func(key string, _ Entry) bool { return key[:len(f.ID)] == string(f.ID) })
	for ref, t := range m.tasks {
		if ref.Framework != f.ID {
			continue
		}
		if t.Acknowledged = t.End != nil; t.End == nil && t.Kill == nil {
			t.Kill = &KillOrder{Reason: offers.ReasonFrameworkGone, Time: c.Time}
		}
		m.tasks[ref] = t
	}
	m.settle(f)
	return ""
}

func (m *model) kill(c *KillTask) offers.Code {
	t, ok := m.tasks[c.Ref]
	if c.Order.Grace != nil && *c.Order.Grace < 0 {
		return offers.BadMessage
	}
	if !ok || t.End != nil {
		return ""
	}
	left := func(o *KillOrder) offers.Duration {
		switch {
		case o.Grace != nil:
			return *o.Grace
		case t.Spec.KillGrace > 0:
			return t.Spec.KillGrace
		}
		return offers.DefaultKillGrace
	}
	order := c.Order
	if t.Kill != nil {
		if left(&order) >= left(t.Kill) {
			return ""
		}
		order.Reason, order.Time = t.Kill.Reason, t.Kill.Time
	}
	t.Kill = &order
	m.tasks[c.Ref] = t
	return ""
}

func (m *model) setRole(c *SetRole) offers.Code {
	switch {
	case c.Role == "" || strings.Contains(string(c.Role), "//"):
		return offers.BadMessage
	case c.Settings == nil:
		delete(m.roles, c.Role)
	case c.Settings.Weight <= 0:
		return offers.BadResources
	default:
		m.roles[c.Role] = *c.Settings
	}
	return ""
}

func (m *model) write(f offers.FrameworkID, key string, version *uint64, value *[]byte) offers.Code {
	if code := m.there(f); code != "" {
		return code
	}
	switch {
	case key == "":
		return offers.BadMessage
	case len(key) > MaxKeyLength:
		return offers.TooLarge
	}
	at := string(f) + "/" + key
	old := m.values[at].Version
	switch {
	case version != nil && *version != old:
		return offers.VersionConflict
	case value == nil:
		delete(m.values, at)
		m.floors[f] = max(m.floors[f], old)
	default:
		m.values[at] = Entry{*value, max(old, m.floors[f]) + 1}
	}
	return ""
}

// contents is everything that readers can see, in a form that compares.
type contents struct {
	Agents     map[offers.AgentID]Agent
	Named      map[string]offers.AgentID
	Frameworks map[offers.FrameworkID]Framework
	LiveOf     map[offers.FrameworkID]int
	Tasks      map[offers.TaskRef]TaskRecord
	Of         map[offers.FrameworkID][]string
	Live, Wait map[offers.AgentID][]string
	Values     map[string]Entry
	Roles      map[offers.Role]offers.RoleSettings
	Counts     Counts
}

func view(s *State) contents {
	v := contents{
		Agents: map[offers.AgentID]Agent{}, Named: map[string]offers.AgentID{}, Frameworks: map[offers.FrameworkID]Framework{},
		LiveOf: map[offers.FrameworkID]int{}, Tasks: map[offers.TaskRef]TaskRecord{}, Of: map[offers.FrameworkID][]string{},
		Live: map[offers.AgentID][]string{}, Wait: map[offers.AgentID][]string{}, Values: map[string]Entry{}, Counts: s.Counts(),
		Roles: maps.Collect(s.Roles()),
	}
	for a := range s.Agents() {
		v.Agents[a.ID] = *a
		v.Live[a.ID], v.Wait[a.ID] = names(s.LiveTasksOn(a.ID)), names(s.UnacknowledgedOn(a.ID))
		if now := s.AgentNamed(a.Name); now != nil {
			v.Named[a.Name] = now.ID
		}
	}
	for f := range s.Frameworks() {
		v.Frameworks[f.ID], v.LiveOf[f.ID], v.Of[f.ID] = *f, s.LiveCount(f.ID), names(s.TasksOf(f.ID))
		for key := range s.Keys(f.ID, "") {
			v.Values[string(f.ID)+"/"+key] = s.Entry(f.ID, key)
		}
	}
	for t := range s.Tasks() {
		v.Tasks[t.Ref()] = t.record()
	}
	return v
}

func (m *model) view() contents {
	v := contents{
		Agents: m.agents, Named: map[string]offers.AgentID{}, Frameworks: m.frameworks, LiveOf: map[offers.FrameworkID]int{},
		Tasks: m.tasks, Of: map[offers.FrameworkID][]string{}, Live: map[offers.AgentID][]string{}, Wait: map[offers.AgentID][]string{},
		Values: m.values, Roles: m.roles, Counts: Counts{Agents: len(m.agents), Frameworks: len(m.frameworks)},
	}
	for id, a := range m.agents {
		v.Live[id], v.Wait[id] = nil, nil
		if a.State != offers.AgentGone {
			v.Named[a.Name] = id
		}
	}
	for id := range m.frameworks {
		v.LiveOf[id], v.Of[id] = 0, nil
	}
	for _, ref := range slices.SortedFunc(maps.Keys(m.tasks), func(a, b offers.TaskRef) int { return cmp.Compare(a.String(), b.String()) }) {
		t := m.tasks[ref]
		v.Of[ref.Framework] = append(v.Of[ref.Framework], ref.String())
		switch {
		case t.End == nil:
			v.Counts.Live++
			v.LiveOf[ref.Framework]++
			v.Live[t.Agent] = append(v.Live[t.Agent], ref.String())
		case !t.Acknowledged:
			v.Counts.Unacknowledged++
			v.Wait[t.Agent] = append(v.Wait[t.Agent], ref.String())
			fallthrough
		default:
			v.Counts.Ended++
		}
	}
	return v
}
