package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/events"
)

// topWant is what somebody looks at: a view, or one thing of it.
type topWant struct {
	view int
	key  string // "" is the list
}

// topSeen is what the masters said to a want.
type topSeen struct {
	at     time.Time
	want   topWant
	status *api.Status       // nil where no master answered
	table  topTable          // of a list
	detail func(*page) error // draws the one thing
	err    error
}

// topView is one of the views of top.
type topView struct {
	name, one string
	sort      string // heading of the column that it is sorted by at first
	list      func(context.Context, *client, time.Time) (topTable, error)
	open      func(ctx context.Context, cl *client, key string) (func(*page) error, error)
	about     string // the filter of /v1/events for those of one thing; "" where open shows them
}

var topViews = []topView{
	{name: "agents", one: "agent", sort: "NAME", about: "agent",
		list: topList("/v1/agents", "agents", agentTable, firstCell),
		open: func(ctx context.Context, cl *client, key string) (func(*page) error, error) {
			s, err := seeOne(ctx, cl, "/v1/agents/"+url.PathEscape(key), drawAgent)
			return s.draw, err
		}},
	{name: "tasks", one: "task", sort: "AGE",
		list: topTasks,
		open: func(ctx context.Context, cl *client, key string) (func(*page) error, error) {
			s, err := seeOne(ctx, cl, "/v1/tasks/"+url.PathEscape(key), drawTask)
			return s.draw, err
		}},
	{name: "roles", one: "role", sort: "ROLE", about: "role",
		list: topList("/v1/roles", "roles", func(list []api.Role, _ time.Time) (row, []row) { return roleTable(list) }, firstCell),
		open: openRole},
	{name: "rings", one: "ring",
		list: topList("/v1/rings", "resources", allRings, func(r row) string { return r[0] + " " + r[1] }),
		open: openRing},
}

func firstCell(r row) string { return r[0] }

// taskKey reads what names a task out of a row of [taskHeading].
func taskKey(r row) string { return thing{ID: r[0], Framework: r[4]}.ref() }

// topTasks asks for all tasks and makes them a table, the newest first: ages
// in whole seconds don't tell them apart, and each turns at another moment.
func topTasks(ctx context.Context, cl *client, now time.Time) (topTable, error) {
	t := topTable{taskHeading, nil, taskKey}
	reader, more := readTasks(now), cl.tasksAfter(url.Values{})
	first, err := more(ctx, "")
	if err != nil {
		return topTable{}, err
	}
	var rows []row
	err = eachPage(ctx, first, more, func(items []byte) (bool, error) {
		page, err := reader.of(items)
		rows = append(rows, page...)
		return true, err
	})
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return reader.created[b].Compare(reader.created[a]) })
	for _, i := range order {
		t.rows = append(t.rows, rows[i])
	}
	return t, err
}

// topList asks for a list and makes it a table.
func topList[T any](path, list string, table func([]T, time.Time) (row, []row), key func(row) string) func(context.Context, *client, time.Time) (topTable, error) {
	return func(ctx context.Context, cl *client, now time.Time) (topTable, error) {
		items, err := listed[T](ctx, cl, path, list, url.Values{})
		if err != nil {
			return topTable{}, err
		}
		heading, rows := table(items, now)
		return topTable{heading, rows, key}, nil
	}
}

func listed[T any](ctx context.Context, cl *client, path, key string, query url.Values) ([]T, error) {
	raw, err := cl.list(ctx, path, key, query)
	if err != nil {
		return nil, err
	}
	return listOf[T](raw, key)
}

// allRings is one table of the rings of all kinds.
func allRings(list []api.RingSet, _ time.Time) (heading row, rows []row) {
	for _, kind := range list {
		for _, r := range ringRows(&kind, false) {
			rows = append(rows, append(row{kind.Name}, r...))
		}
	}
	return append(row{"KIND"}, ringHeading...), rows
}

func openRing(ctx context.Context, cl *client, key string) (func(*page) error, error) {
	list, err := listed[api.RingSet](ctx, cl, "/v1/rings", "resources", url.Values{})
	if err != nil {
		return nil, err
	}
	for _, kind := range list {
		for i, r := range ringRows(&kind, true) {
			if kind.Name+" "+r[0] == key {
				return func(p *page) error { drawRing(p, &kind, i); return nil }, nil
			}
		}
		if several, is := strings.CutPrefix(key, kind.Name+" "); is && strings.Contains(several, "-") {
			return func(p *page) error { p.fields("kind", kind.Name, "rings", several, "agents", "0"); return nil }, nil
		}
	}
	return nil, fmt.Errorf("there is no ring %s any more", key)
}

// drawRing writes who is in one ring.
func drawRing(p *page, kind *api.RingSet, i int) {
	ring := kind.Rings[i]
	p.fields("kind", kind.Name, "ring", fmt.Sprint(ring.Index), "free", ringSpan(kind.Name, ring.From, ring.To), "agents", fmt.Sprint(len(ring.Agents)))
	if len(ring.Agents) == 0 {
		return
	}
	var rows []row
	for _, a := range ring.Agents {
		rows = append(rows, row{string(a.ID), a.Name, kindAmount(kind.Name, a.Free)})
	}
	p.printf("\n")
	p.table(row{"ID", "NAME", "FREE"}, rows)
}

func openRole(ctx context.Context, cl *client, key string) (func(*page) error, error) {
	roles, err := listed[api.Role](ctx, cl, "/v1/roles", "roles", url.Values{})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(roles, func(r api.Role) bool { return string(r.Name) == key })
	if at < 0 {
		return nil, fmt.Errorf("there is no role %s any more", key)
	}
	s, err := seeList(ctx, cl, "/v1/frameworks", "frameworks", url.Values{"role": {key}}, drawFrameworks)
	return func(p *page) error {
		drawRole(p, roles[at])
		p.printf("\n")
		return s.draw(p)
	}, err
}

// maxTrail is how many of the newest events of a thing are shown.
const maxTrail = 200

// trail is the events of one thing, read on from where the last reading ended.
type trail struct {
	want   topWant
	reader *api.Follower
	events []events.Event
}

func newTrail(cl *client, want topWant) *trail {
	t := &trail{want: want}
	t.reader = &api.Follower{Client: cl.Client, Query: url.Values{topViews[want.view].about: {want.key}, "follow": {"false"}, "after": {"oldest"}}, Hear: t.hear}
	return t
}

func (t *trail) hear(data []byte) error {
	e, err := api.Event(data)
	if err != nil {
		return err
	}
	if e.Type != events.Begin {
		t.events = append(t.events, e)
	}
	t.events = t.events[max(0, len(t.events)-maxTrail):]
	return nil
}

// drawTrail writes events, the newest first.
func drawTrail(p *page, events []events.Event) {
	if len(events) == 0 {
		return
	}
	var rows []row
	for _, e := range slices.Backward(events) {
		rows = append(rows, row{age(p.now, e.Time), e.Time.UTC().Format(time.RFC3339), string(e.Type), subject(&e), e.State, detail(&e)})
	}
	p.printf("\n")
	p.table(row{"AGO", "+TIME", "EVENT", "ABOUT", "STATE", "WHY"}, rows)
}

// topReader asks the masters for what is looked at. Its fields are owned by
// run, but for the queue.
type topReader struct {
	client *client
	wants  chan topWant // one place: only the newest want matters
	tell   func(topSeen)
	now    func() time.Time
	trail  *trail
}

// ask makes want the next that is asked for. One goroutine calls it; it never
// blocks.
func (r *topReader) ask(want topWant) {
	select {
	case <-r.wants:
	default:
	}
	r.wants <- want
}

const (
	topEvery = time.Second
	// topRest is how many times as long as an answer took nothing is asked, so
	// that a large cluster is not kept busy by being looked at.
	topRest = 9
)

// run asks until the context ends: at once when the want changes, else every
// [topEvery] at most.
func (r *topReader) run(ctx context.Context) {
	want := <-r.wants // there since before it runs
	for {
		began := time.Now()
		seen := r.read(ctx, want)
		if ctx.Err() != nil {
			return
		}
		r.tell(seen)
		took := time.Since(began)
		select {
		case <-ctx.Done():
			return
		case want = <-r.wants:
		case <-time.After(max(topEvery-took, topRest*took)):
		}
	}
}

func (r *topReader) read(ctx context.Context, want topWant) topSeen {
	seen := topSeen{want: want}
	var status api.Status
	err := r.client.Get(ctx, "/v1/status", &status)
	if err == nil {
		seen.status = &status
	}
	seen.at = r.now()
	view := topViews[want.view]
	switch {
	case err != nil:
	case want.key == "":
		seen.table, err = view.list(ctx, r.client, seen.at)
	default:
		seen.detail, err = r.open(ctx, view, want)
	}
	seen.err = err
	return seen
}

// open asks for one thing and its events.
func (r *topReader) open(ctx context.Context, view topView, want topWant) (func(*page) error, error) {
	draw, err := view.open(ctx, r.client, want.key)
	if err != nil || view.about == "" {
		return draw, err
	}
	if r.trail == nil || r.trail.want != want {
		r.trail = newTrail(r.client, want)
	}
	if err := r.trail.reader.Run(ctx); err != nil {
		return nil, err
	}
	events := slices.Clone(r.trail.events)
	return func(p *page) error {
		if err := draw(p); err != nil {
			return err
		}
		drawTrail(p, events)
		return nil
	}, nil
}
