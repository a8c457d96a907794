package offers_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// market is a leader that does nothing but keep its book and the rooms of a
// few agents, beside a model of both: a list of offers in order of issue, and
// per agent a list of what is taken, summed up anew for every question.
type market struct {
	term  uint64
	now   time.Time
	book  *offers.Book
	rooms map[offers.AgentID]*offers.Room

	list   []*offers.Offer                     // outstanding, in order of issue
	spent  []offers.OfferID                    // ended, in this term or an older one
	tasks  map[offers.AgentID][]offers.Holding // what was launched and has not ended
	totals map[offers.AgentID]offers.Inventory // what no sum may pass
	issued map[offers.OfferID]bool             // in any term
}

func newMarket(t *rapid.T) *market {
	m := &market{
		term: 1, now: epoch, book: offers.NewBook(1), rooms: map[offers.AgentID]*offers.Room{},
		tasks: map[offers.AgentID][]offers.Holding{}, totals: map[offers.AgentID]offers.Inventory{}, issued: map[offers.OfferID]bool{},
	}
	for n := range 3 {
		id := offers.AgentID(fmt.Sprint("a", n))
		m.totals[id] = drawInventory(t)
		m.rooms[id] = offers.NewRoom(m.totals[id])
	}
	return m
}

func (m *market) agent(t *rapid.T) offers.AgentID {
	return offers.AgentID(fmt.Sprint("a", rapid.IntRange(0, 2).Draw(t, "agent")))
}

func (m *market) framework(t *rapid.T) offers.FrameworkID {
	return offers.FrameworkID(fmt.Sprint("f", rapid.IntRange(0, 2).Draw(t, "framework")))
}

// issue offers what an ask takes on an agent, or all that is free there.
func (m *market) issue(t *rapid.T) {
	agent := m.agent(t)
	held := m.rooms[agent].Rest()
	if rapid.IntRange(0, 4).Draw(t, "whole") < 4 {
		var short string
		if held, short = m.rooms[agent].Plan(drawAsk(t), always(drawPolicy(t))); short != "" {
			return
		}
	}
	if err := m.rooms[agent].Take(held); err != nil {
		t.Fatalf("%+v is free on %s and can't be taken: %v", held, agent, err)
	}
	o := m.book.Issue(&offers.Offer{
		Framework: m.framework(t), Agent: agent, Held: held,
		Expires: m.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second),
	})
	if m.issued[o.ID] {
		t.Fatalf("the id %s was given twice", o.ID)
	}
	m.issued[o.ID] = true
	m.list = append(m.list, o)
}

// ended enters that offers are over and their room is free again.
func (m *market) ended(gone []*offers.Offer) {
	for _, o := range gone {
		m.rooms[o.Agent].Give(o.Held)
		m.spent = append(m.spent, o.ID)
	}
	m.list = slices.DeleteFunc(m.list, func(o *offers.Offer) bool { return slices.Contains(gone, o) })
}

// name draws an id a framework may come with: outstanding, ended, from an
// older leader, or made up.
func (m *market) name(t *rapid.T) offers.OfferID {
	switch rapid.IntRange(0, 5).Draw(t, "name") {
	case 0:
		return offers.OfferID(rapid.SampledFrom([]string{"", "o0-0", "o1", "o1-9"}).Draw(t, "made up"))
	case 1:
		if len(m.spent) > 0 {
			return rapid.SampledFrom(m.spent).Draw(t, "spent")
		}
	}
	if len(m.list) == 0 {
		return "o0-0"
	}
	return rapid.SampledFrom(m.list).Draw(t, "outstanding").ID
}

// consume is an accept: the offers end, a task is launched out of them if they
// were good.
func (m *market) consume(t *rapid.T) {
	framework := m.framework(t)
	var named []offers.OfferID
	for range rapid.IntRange(1, 4).Draw(t, "names") {
		named = append(named, m.name(t))
	}
	want, code := m.expect(framework, named)
	got, err := m.book.Consume(framework, named)
	if (err == nil) != (code == "") || code != "" && !errors.Is(err, &offers.Error{Code: code}) || !slices.Equal(got, want) {
		t.Fatalf("%s consumes %v: %v, %v; want %v and the code %q", framework, named, ids(got), err, ids(want), code)
	}
	m.ended(got)
	if err == nil {
		m.launch(t, got)
	}
}

// expect says which offers an accept of those names ends, and with which code.
func (m *market) expect(framework offers.FrameworkID, named []offers.OfferID) (want []*offers.Offer, code offers.Code) {
	for _, id := range named {
		at := slices.IndexFunc(m.list, func(o *offers.Offer) bool { return o.ID == id && o.Framework == framework })
		switch {
		case at < 0 && code == "":
			code = offers.OfferGone
		case at >= 0 && !slices.Contains(want, m.list[at]):
			want = append(want, m.list[at])
			if want[0].Agent != m.list[at].Agent && code == "" {
				code = offers.MixedAgents
			}
		}
	}
	return want, code
}

// launch plans a task in what good offers held, which the agent must have.
func (m *market) launch(t *rapid.T, from []*offers.Offer) {
	agent := from[0].Agent
	var all offers.Holding
	for _, o := range from {
		all.Amounts = all.Amounts.Plus(o.Held.Amounts)
		all.Ports = all.Ports.Plus(o.Held.Ports)
		for _, held := range o.Held.Devices {
			all.Devices = all.Devices.With(held.Class, held.Grants...)
		}
	}
	h, short := offers.Inside(m.totals[agent], all).Plan(drawAsk(t), always(drawPolicy(t)))
	if short != "" {
		return
	}
	if err := m.rooms[agent].Take(h); err != nil {
		t.Fatalf("%+v was offered on %s and can't be taken: %v", h, agent, err)
	}
	m.tasks[agent] = append(m.tasks[agent], h)
}

// expire lets time pass.
func (m *market) expire(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 6).Draw(t, "later")) * time.Second)
	want := slices.DeleteFunc(slices.Clone(m.list), func(o *offers.Offer) bool { return o.Expires.After(m.now) })
	slices.SortStableFunc(want, func(x, y *offers.Offer) int { return x.Expires.Compare(y.Expires) })
	got := m.book.Expired(m.now)
	if !slices.Equal(got, want) {
		t.Fatalf("expired %v, the model says %v", ids(got), ids(want))
	}
	m.ended(got)
}

// rescind takes all offers of an agent or of a framework back.
func (m *market) rescind(t *rapid.T) {
	list := m.book.OfAgent(m.agent(t))
	if rapid.Bool().Draw(t, "of a framework") {
		list = m.book.OfFramework(m.framework(t))
	}
	for _, o := range list {
		m.book.End(o)
	}
	m.ended(list)
}

// lead is a change of leader: the new one knows no offer, and the room of all
// of them is free.
func (m *market) lead(*rapid.T) {
	m.term++
	m.book = offers.NewBook(m.term)
	m.ended(slices.Clone(m.list))
}

func (m *market) check(t *rapid.T) {
	where := func(keep func(*offers.Offer) bool) (out []offers.OfferID) {
		return ids(slices.DeleteFunc(slices.Clone(m.list), func(o *offers.Offer) bool { return !keep(o) }))
	}
	all := where(func(*offers.Offer) bool { return true })
	if got := ids(m.book.All()); !slices.Equal(got, all) || m.book.Len() != len(all) {
		t.Fatalf("outstanding are %v (%d), the model says %v", got, m.book.Len(), all)
	}
	for n := range 3 {
		agent, framework := offers.AgentID(fmt.Sprint("a", n)), offers.FrameworkID(fmt.Sprint("f", n))
		if got, want := ids(m.book.OfAgent(agent)), where(func(o *offers.Offer) bool { return o.Agent == agent }); !slices.Equal(got, want) {
			t.Fatalf("of %s are %v, the model says %v", agent, got, want)
		}
		if got, want := ids(m.book.OfFramework(framework)), where(func(o *offers.Offer) bool { return o.Framework == framework }); !slices.Equal(got, want) {
			t.Fatalf("of %s are %v, the model says %v", framework, got, want)
		}
		sums := modelRoom{total: m.totals[agent], taken: slices.Clone(m.tasks[agent])}
		for _, o := range m.list {
			if o.Agent == agent {
				sums.taken = append(sums.taken, o.Held)
			}
		}
		sums.check(t, m.rooms[agent], true)
	}
	next, ok := m.book.NextExpiry()
	if ok != (len(m.list) > 0) {
		t.Fatalf("something to expire: %v, the model has %d", ok, len(m.list))
	}
	least := slices.ContainsFunc(m.list, func(o *offers.Offer) bool { return o.Expires.Equal(next) })
	for _, o := range m.list {
		if o.Expires.Before(next) || !least {
			t.Fatalf("the next expiry is %v, but %s expires at %v", next, o.ID, o.Expires)
		}
		if got, found := m.book.Get(o.ID); !found || got != o {
			t.Fatalf("%s is not found", o.ID)
		}
	}
	for _, id := range m.spent {
		if _, found := m.book.Get(id); found {
			t.Fatalf("%s is over and found", id)
		}
	}
}

// TestBookAgainstModel: an offer is good once and in one term only, and what
// is offered and what runs never pass what an agent has.
func TestBookAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMarket(t)
		actions := map[string]func(*rapid.T){
			"issue":   m.issue,
			"issue 2": m.issue,
			"consume": m.consume,
			"expire":  m.expire,
			"rescind": m.rescind,
			"lead":    m.lead,
			"decline one": func(t *rapid.T) {
				if len(m.list) > 0 {
					o := rapid.SampledFrom(m.list).Draw(t, "declined")
					m.book.End(o)
					m.ended([]*offers.Offer{o})
				}
			},
			"end of a task": func(t *rapid.T) {
				agent := m.agent(t)
				if list := m.tasks[agent]; len(list) > 0 {
					m.rooms[agent].Give(list[0])
					m.tasks[agent] = list[1:]
				}
			},
			"": m.check,
		}
		for range 3 {
			t.Repeat(actions)
		}
	})
}
