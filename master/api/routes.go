package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Route is one endpoint of a master.
type Route struct {
	Method string
	Path   string // as [net/http.ServeMux] has it
	Does   string // in a sentence without its stop

	In       []Param // of the path, where there is more to say of them, and the header
	Query    []Param
	Takes    any            // a zero value of what its body is as JSON, Bytes for any bytes; nil: nothing
	Requires bool           // that body
	Once     bool           // asked twice it may do more than asked once
	Gives    any            // a zero value of what it answers, as JSON unless Media says otherwise; Bytes for any bytes
	Media    string         // of the answer
	Upgrades string         // to that websocket protocol, "" does not
	Refuses  map[int]string // statuses beside those that any endpoint may answer with
}

// Bytes stands for a body that is not JSON.
type Bytes struct{}

// Object stands for a body of which a master knows only that it is JSON: it
// passes that on.
type Object struct{}

// Param is one value of a query, a path or a header.
type Param struct {
	Name    string
	In      string // path or header; "" is the query
	Kind    string // integer or boolean; "" is a string
	About   string
	One     []string // all that it may be; none: anything
	Least   *int
	Most    *int
	Default any
}

// The bounds of a page.
const (
	DefaultLimit = 10_000
	MaxLimit     = 100_000
)

// The bounds of the agents that an explanation names one by one.
const (
	DefaultLooked = 10
	MaxLooked     = 1000
)

var (
	stale     = Param{Name: "stale", Kind: "boolean", About: "true: answer from this master's replicated copy, whoever leads; soft state is absent"}
	limit     = Param{Name: "limit", Kind: "integer", About: "most items on a page", Least: new(1), Most: new(MaxLimit), Default: DefaultLimit}
	next      = Param{Name: "next", About: "the next of the page before"}
	framework = Param{Name: "framework", About: "id or name of a framework"}
	agent     = Param{Name: "agent", About: "id or name of an agent"}
	role      = Param{Name: "role", About: "this role, without its descendants"}
	inState   = Param{Name: "state", About: "in this state"}
	byName    = Param{Name: "id", In: "path", About: "the id, the name where one alone has it, or a unique beginning of the id"}
	byID      = Param{Name: "id", In: "path", About: "the id or a unique beginning of it, also as FRAMEWORK:TASK with the framework's id or name"}
	slashes   = "may hold slashes"
)

// Routes are all of a master's endpoints.
var Routes = []Route{
	{Method: "GET", Path: "/{$}", Does: "The web page", Gives: Bytes{}, Media: "text/html"},
	{Method: "GET", Path: "/ui/{file}", Does: "A file of the web page", Gives: Bytes{}, Media: "application/octet-stream"},
	{Method: "GET", Path: "/healthz", Does: "The process serves", Gives: Health{}},
	{Method: "GET", Path: "/readyz", Does: "Requests would be served: there is a leader with a majority", Gives: Health{}},
	{Method: "GET", Path: "/metrics", Does: "Prometheus metrics", Gives: Bytes{}, Media: "text/plain"},
	{Method: "GET", Path: "/v1/openapi.json", Does: "This description", Gives: Object{}},

	{Method: "GET", Path: "/v1/status", Does: "The cluster at a glance", Query: []Param{stale}, Gives: Status{}},
	{Method: "GET", Path: "/v1/masters", Does: "The masters", Query: []Param{stale}, Gives: Masters{}},
	{
		Method: "POST", Path: "/v1/masters/{name}/remove", Does: "Take a master out of the cluster; its process is not stopped",
		Takes: struct{}{}, Gives: MasterAct{},
	},
	{
		Method: "POST", Path: "/v1/leader/transfer", Does: "Hand the leadership to another master",
		Takes: Transfer{}, Gives: Transferred{}, Once: true,
	},

	{
		Method: "GET", Path: "/v1/agents", Does: "The agents, the eldest first",
		Query: []Param{stale, limit, next, agent, inState}, Gives: Agents{},
	},
	{Method: "GET", Path: "/v1/agents/{id}", Does: "One agent", In: []Param{byName}, Query: []Param{stale}, Gives: Agent{}},
	{
		Method: "POST", Path: "/v1/agents/{id}/drain", Does: "Take an agent out of service: no offers, its tasks end; an unreachable one when it is back",
		In: []Param{byName}, Takes: Drain{}, Gives: AgentAct{},
	},
	{
		Method: "POST", Path: "/v1/agents/{id}/undrain", Does: "Put an agent back into service",
		In: []Param{byName}, Takes: struct{}{}, Gives: AgentAct{},
	},
	{
		Method: "POST", Path: "/v1/agents/{id}/remove", Does: "Remove an agent for good; its tasks are gone",
		In: []Param{byName}, Takes: struct{}{}, Gives: AgentAct{},
	},

	{
		Method: "GET", Path: "/v1/frameworks", Does: "The frameworks, the eldest first; removed ones with state=removed",
		Query: []Param{stale, limit, next, framework, role, {Name: "state", About: inState.About, One: []string{"connected", "disconnected", "removed"}}},
		Gives: Frameworks{},
	},
	{Method: "GET", Path: "/v1/frameworks/{id}", Does: "One framework", In: []Param{byName}, Query: []Param{stale}, Gives: Framework{}},
	{
		Method: "POST", Path: "/v1/frameworks/{id}/teardown", Does: "End a framework and kill its tasks",
		In: []Param{byName}, Takes: struct{}{}, Gives: FrameworkAct{},
	},

	{
		Method: "GET", Path: "/v1/tasks", Does: "The tasks by framework and id; ended ones as far as they are remembered",
		Query: []Param{stale, limit, next, framework, agent, role, inState}, Gives: Tasks{},
	},
	{Method: "GET", Path: "/v1/tasks/{id}", Does: "One task, with its history", In: []Param{byID}, Query: []Param{stale}, Gives: Task{}},
	{
		Method: "POST", Path: "/v1/tasks/{id}/kill", Does: "Order the end of a task",
		In: []Param{byID}, Takes: Kill{}, Gives: offers.TaskRef{},
	},
	{
		Method: "GET", Path: "/v1/tasks/{id}/logs", Does: "What a task wrote, as raw bytes", In: []Param{byID},
		Query: []Param{
			{Name: "stream", One: []string{"stdout", "stderr"}, Default: "stdout"},
			{Name: "follow", Kind: "boolean", About: "true: go on until the task ends"},
			{Name: "offset", Kind: "integer", About: "first byte", Least: new(0)},
		},
		Gives: Bytes{}, Media: "application/octet-stream",
	},
	{Method: "GET", Path: "/v1/tasks/{id}/files", Does: "The files of a task's sandbox", In: []Param{byID}, Gives: Object{}},
	{
		Method: "GET", Path: "/v1/tasks/{id}/files/{path...}", Does: "A file of a task's sandbox as raw bytes, or a folder",
		In:    []Param{byID, {Name: "path", In: "path", About: slashes}},
		Gives: Bytes{}, Media: "application/octet-stream",
	},
	{
		Method: "GET", Path: "/v1/tasks/{id}/exec",
		Does:     "Websocket to a command that runs beside a task; the README describes its messages",
		In:       []Param{byID},
		Upgrades: wire.ExecProtocol,
	},

	{
		Method: "GET", Path: "/v1/offers", Does: "The outstanding offers, the eldest first",
		Query: []Param{stale, limit, next, framework, agent, role}, Gives: Offers{},
	},
	{
		Method: "GET", Path: "/v1/rings", Does: "Every ring with its agents",
		Query: []Param{stale, {Name: "resource", About: "one kind"}}, Gives: RingSets{},
	},
	{
		Method: "GET", Path: "/v1/roles", Does: "The roles that are in use or were set, by name",
		Query: []Param{stale, limit, next, role}, Gives: Roles{},
	},
	{
		Method: "PUT", Path: "/v1/roles/{name...}", Does: "Replace all that is said of a role: what the body leaves out is weight 1, no limit, no guarantee, and the placement of the role above; {} forgets all that was said",
		In: []Param{{Name: "name", In: "path", About: slashes}}, Takes: RoleSettings{}, Requires: true, Gives: Role{},
	},
	{
		Method: "GET", Path: "/v1/explain",
		Does: "Why a demand goes where it goes, or waits: of one that stands (demand), of one that could be stated (wish), or a list of all that wait",
		Query: []Param{
			framework, role, limit, next,
			{Name: "demand", About: "id of a demand of the framework; without it and wish the demands that wait are listed"},
			{Name: "wish", About: "a demand as JSON, as frameworks send it; nothing is offered and nothing learned. It is explained for the framework, or for a new one of the role"},
			{Name: "looked", Kind: "integer", About: "how many of the agents that were looked at are named one by one", Least: new(0), Most: new(MaxLooked), Default: DefaultLooked},
		},
		Gives: Either{Explanation{}, WaitingDemands{}},
	},
	{
		Method: "GET", Path: "/v1/floor", Does: "The room of all agents as the accepted tasks leave it, and the event after which that changes",
		Query: []Param{stale}, Gives: Floor{},
	},
	{
		Method: "GET", Path: "/v1/usage", Does: "What there was, was used and was offered in the last hour, as this master counted it",
		Query: []Param{stale}, Gives: Usage{},
	},
	{
		Method: "GET", Path: "/v1/events", Does: "What changes, as server-sent events",
		In: []Param{{Name: "Last-Event-ID", In: "header", About: "the same as after, and it wins"}},
		Query: []Param{
			stale,
			{Name: "after", About: "the id of the last event that was had; oldest: everything that is kept. Not given: from now on"},
			{Name: "follow", Kind: "boolean", About: "false: end when everything that is kept was told", Default: true},
			framework, agent,
			{Name: "task", About: "id of a task, FRAMEWORK:TASK with the framework's id or name, or a unique beginning"},
			role,
			{Name: "type", About: "types with commas; task, agent, framework, role, leader, demand or offer stands for all of its types; what waits and what becomes of offers is told only to who asks for it here"},
			{Name: "status", Kind: "boolean", About: "true: every 15 s also how the cluster stands, as blocks of `event: status` without an id, their data as GET /v1/status gives it, and what outstanding offers hold of each agent, where that changed, as blocks of `event: held`; the leader has them"},
		},
		Gives: events.Event{}, Media: "text/event-stream",
	},

	{
		Method: "GET", Path: "/v1/jobs", Does: "The jobs, by name; answered, as all of /v1/jobs, by the jobs framework that is connected",
		Gives: Object{},
	},
	{
		Method: "GET", Path: "/v1/jobs/{name}", Does: "One job: beside what the list has, its file, runs, instances and what happened lately",
		Query: []Param{
			{Name: "brief", Kind: "boolean", About: "true leaves the instances out"},
			{Name: "after", Kind: "integer", About: "answer when the job has changed since this number, or after a second; of the events only those after it"},
		},
		Gives: Object{},
	},
	{Method: "PUT", Path: "/v1/jobs/{name}", Does: "Run a job: its file as JSON", Takes: Object{}, Requires: true, Gives: Object{}, Once: true},
	{
		Method: "POST", Path: "/v1/jobs/{name}/{act}", Does: "Act on a job: stop, scale to a count, rollback to a version (0: the one before), or purge what has ended",
		In:    []Param{{Name: "act", In: "path", One: []string{"stop", "scale", "rollback", "purge"}}},
		Takes: Object{}, Gives: Object{}, Once: true,
	},

	{
		Method: "GET", Path: "/v1/snapshot", Does: "The replicated state, consistent and with its checksum",
		Gives: Bytes{}, Media: "application/octet-stream",
	},
	{
		Method: "POST", Path: "/v1/snapshot", Does: "Put a saved snapshot in the place of the replicated state, on all masters",
		Takes: Bytes{}, Requires: true, Gives: Restored{}, Once: true,
	},

	{Method: "GET", Path: wire.FrameworkPath, Does: "Websocket for frameworks; the README describes its messages", Upgrades: wire.FrameworkProtocol},
	{Method: "GET", Path: wire.AgentPath, Does: "Websocket for agents; the README describes its messages", Upgrades: wire.AgentProtocol},
	{
		Method: "GET", Path: wire.PrematchPath, Does: "Websocket for masters of the same build that pre-match for the leader, binary and not public",
		Query:    []Param{{Name: "build", About: "what the master is built from"}},
		Upgrades: wire.PrematchProtocol, Refuses: map[int]string{409: "This master is of another build"},
	},
}

// Either stands for one of several answers.
type Either []any

// RouteOf returns the route of a pattern, nil where there is none.
func RouteOf(pattern string) *Route {
	for i := range Routes {
		if Routes[i].Pattern() == pattern {
			return &Routes[i]
		}
	}
	return nil
}

// onces routes requests to the endpoints that are for once.
var onces = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range Routes {
		if r.Once {
			mux.Handle(r.Pattern(), http.NotFoundHandler())
		}
	}
	return mux
})

// once reports whether a request, asked twice, may do more than asked once.
func once(method, path string) bool {
	at, err := url.ParseRequestURI(path)
	if err != nil {
		return false
	}
	_, pattern := onces().Handler(&http.Request{Method: method, URL: at})
	return pattern != ""
}

// Pattern is the route as [net/http.ServeMux] has it.
func (r *Route) Pattern() string { return r.Method + " " + r.Path }

// Known returns an error that names the first value of a query that the route
// does not take, or takes once and has more often: who mistypes a filter would
// get everything, who gives two what the first lets through.
func (r *Route) Known(query url.Values) error {
	for _, name := range sorted(query) {
		if !slices.ContainsFunc(r.Query, func(p Param) bool { return p.Name == name }) {
			return offers.Errorf(offers.BadMessage, "%.60q is unknown; %s", name, r.takes())
		}
		if n := len(query[name]); n > 1 {
			return offers.Errorf(offers.BadMessage, "%s is given %d times; it has one value", name, n)
		}
	}
	return nil
}

func sorted(query url.Values) []string {
	var out []string
	for name := range query {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (r *Route) takes() string {
	if len(r.Query) == 0 {
		return r.Method + " " + r.Path + " takes none"
	}
	var names []string
	for _, p := range r.Query {
		names = append(names, p.Name)
	}
	return "there are " + strings.Join(names, ", ")
}
