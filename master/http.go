package master

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// After so long a silence a connection is given up whose other end is stopped or cut
// off. An agent has longer, since an idle one is heard only when it asks for the leader,
// or the agent timeout where that is less.
const (
	longestSilence = 30 * time.Second
	agentSilence   = 40 * time.Second
)

// agentPing is after how long an agent is asked whether it lives, which has the rest of
// its silence to answer. Where that is the longest, an idle one has asked for the leader
// before, and was heard so.
func agentPing(silence time.Duration) time.Duration { return max(silence/2, silence-10*time.Second) }

// electionHold is how long those who want to connect are kept while there is
// no leader. Most elections end within it, so that nobody need ask again and
// again, or wait longer than the election takes. Clients give a master up
// after 3 s.
const electionHold = 2 * time.Second

// leading is what the HTTP interface needs of the loop.
type leading interface {
	picture(context.Context) (*picture, error)
	held(context.Context) (map[offers.AgentID]offers.Holding, error)
	state(context.Context) (*state.State, error)
	explain(context.Context, question) (answered, error)
	command(context.Context, ...state.Command) ([]state.Result, error)
	restore(context.Context, *state.State) error
	begun() <-chan struct{}
}

// standing is what it needs of the replica.
type standing interface {
	VerifyLeader() error
	Leader() (replica.Member, bool)
	LeaderChanged() <-chan struct{}
	Members() []replica.Member
	Silent(id string) bool
	Self() replica.Member
	State() *state.State
	Term() uint64
	Progress() replica.Progress
	TransferLeadership() error
	TransferLeadershipTo(ctx context.Context, name string) error
	Remove(ctx context.Context, name string) error
}

var (
	_ leading  = (*loop)(nil)
	_ standing = (*replica.Replica)(nil)
)

// api is the HTTP interface of one master. Everything in it is static; the
// sessions it upgrades are served by the goroutines of their requests, which
// sessions counts because a server forgets upgraded connections.
type api struct {
	loop    leading
	replica standing
	feed    *feed
	meters  *meters
	tracer  offers.Tracer // nil: none
	door    *door.Door
	logger  hclog.Logger
	version string
	agents  http.RoundTripper // to the agents' HTTP doors

	framework, agent, follower func(wire.Link, visitor) // serve one connection
	silence                    time.Duration            // after which an agent's connection is given up
	hold                       time.Duration            // how long a connection waits for a leader
	entrance                   gate                     // of connections that become sessions
	looks                      gate                     // of requests whose answers are made
	unsent                     *wire.Unsent             // to frameworks and agents

	sessions sync.WaitGroup
	taken    atomic.Uint64 // sessions, ever
	mux      *http.ServeMux
	routes   map[string]route // by pattern of mux
}

// route is one endpoint.
type route struct {
	action door.Action            // "" is open to everybody
	target string                 // path value that names what it acts on, "" for the whole
	body   int64                  // bytes that a request may hold; 0 is maxBody
	known  func(url.Values) error // what its query may hold; nil: anything
	serve  func(http.ResponseWriter, *http.Request) error
}

// build enters every endpoint; each of /v1 is one of [shown.Routes].
func (a *api) build() {
	a.mux, a.routes = http.NewServeMux(), map[string]route{}
	for pattern, r := range map[string]route{
		"GET /{$}":             {serve: page},
		"GET /ui/{file}":       {serve: page},
		"GET /healthz":         {serve: a.health},
		"GET /readyz":          {serve: a.readiness},
		"GET /v1/openapi.json": {action: door.Read, serve: openapi},
		"GET /metrics":         {action: door.Read, serve: a.metrics()},

		"GET /v1/status":          {action: door.Read, serve: a.read(a.status)},
		"GET /v1/masters":         {action: door.Read, serve: a.read(a.masters)},
		"GET /v1/agents":          {action: door.Read, serve: a.read(a.listAgents)},
		"GET /v1/agents/{id}":     {action: door.Read, target: "id", serve: a.read(a.oneAgent)},
		"GET /v1/frameworks":      {action: door.Read, serve: a.read(a.listFrameworks)},
		"GET /v1/frameworks/{id}": {action: door.Read, target: "id", serve: a.read(a.oneFramework)},
		"GET /v1/tasks":           {action: door.Read, serve: a.read(a.listTasks)},
		"GET /v1/tasks/{id}":      {action: door.Read, target: "id", serve: a.read(a.oneTask)},
		"GET /v1/offers":          {action: door.Read, serve: a.read(a.listOffers)},
		"GET /v1/rings":           {action: door.Read, serve: a.read(a.listRings)},
		"GET /v1/roles":           {action: door.Read, serve: a.read(a.listRoles)},
		"GET /v1/explain":         {action: door.Read, serve: a.explain},
		"GET /v1/floor":           {action: door.Read, serve: a.read(a.floor)},
		"GET /v1/usage":           {action: door.Read, serve: a.read(a.usage)},
		"GET /v1/events":          {action: door.Read, serve: a.events},

		"GET /v1/tasks/{id}/logs":            {action: door.Sandbox, target: "id", serve: a.taskLogs},
		"GET /v1/tasks/{id}/files":           {action: door.Sandbox, target: "id", serve: a.taskFiles},
		"GET /v1/tasks/{id}/files/{path...}": {action: door.Sandbox, target: "id", serve: a.taskFiles},
		"GET /v1/tasks/{id}/exec":            {action: door.Exec, target: "id", serve: a.taskExec},

		"POST /v1/tasks/{id}/kill":          {action: door.Operate, target: "id", serve: a.killTask},
		"POST /v1/agents/{id}/drain":        {action: door.Operate, target: "id", serve: a.drainAgent},
		"POST /v1/agents/{id}/undrain":      {action: door.Operate, target: "id", serve: a.undrainAgent},
		"POST /v1/agents/{id}/remove":       {action: door.Operate, target: "id", serve: a.removeAgent},
		"POST /v1/frameworks/{id}/teardown": {action: door.Operate, target: "id", serve: a.teardownFramework},
		"PUT /v1/roles/{name...}":           {action: door.Operate, target: "name", serve: a.putRole},

		"GET /v1/jobs":               {action: door.Read, serve: a.jobs},
		"GET /v1/jobs/{name}":        {action: door.Read, target: "name", serve: a.jobs},
		"PUT /v1/jobs/{name}":        {action: door.Operate, target: "name", serve: a.jobs},
		"POST /v1/jobs/{name}/{act}": {action: door.Operate, target: "name", serve: a.jobs},

		"POST /v1/leader/transfer":       {action: door.Operate, serve: a.transferLeader},
		"POST /v1/masters/{name}/remove": {action: door.Operate, target: "name", serve: a.removeMaster},
		"GET /v1/snapshot":               {action: door.Operate, serve: a.saveSnapshot},
		"POST /v1/snapshot":              {action: door.Operate, body: maxSnapshot, serve: a.restoreSnapshot},

		"GET " + wire.FrameworkPath: {action: door.Framework + "connect", serve: a.upgrade(wire.FrameworkProtocol, a.bounded(wire.Options{Silence: longestSilence, Compact: true}), a.framework)},
		"GET " + wire.AgentPath:     {action: door.Agent + "connect", serve: a.upgrade(wire.AgentProtocol, a.bounded(wire.Options{Silence: a.silence, Ping: agentPing(a.silence), Compact: true}), a.agent)},
		"GET " + wire.PrematchPath:  {action: door.Peer, serve: a.prematch},
	} {
		if d := shown.RouteOf(pattern); d != nil && strings.HasPrefix(d.Path, "/v1/") && d.Upgrades == "" {
			r.known = d.Known
		}
		a.routes[pattern] = r
		a.mux.Handle(pattern, a.guard(pattern, r))
	}
}

// metrics serves what collector counts, in a registry of our own.
func (a *api) metrics() func(http.ResponseWriter, *http.Request) error {
	exporter := promhttp.HandlerFor(newRegistry(a), promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return func(w http.ResponseWriter, r *http.Request) error {
		exporter.ServeHTTP(w, r)
		return nil
	}
}

// health says that the process serves, whatever the cluster is up to.
func (a *api) health(w http.ResponseWriter, _ *http.Request) error {
	return write(w, shown.Health{Status: "ok"})
}

// readiness says whether requests would be served: there is a leader, and if
// it is this one, a majority follows it.
func (a *api) readiness(w http.ResponseWriter, r *http.Request) error {
	if err := a.ready(r.Context()); err != nil {
		return err
	}
	return write(w, shown.Health{Status: "ready"})
}

func (a *api) ready(ctx context.Context) error {
	leader, ok := a.replica.Leader()
	if !ok {
		return errNoLeader()
	}
	if leader.ID != a.replica.Self().ID {
		return nil
	}
	_, err := a.sight(ctx)
	return err
}
