package master

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

const (
	headerTimeout   = 10 * time.Second // to send a request's header, TLS included
	idleTimeout     = 2 * time.Minute  // of a connection between requests
	shutdownTimeout = 2 * time.Second  // for requests under way when the master stops
	dialTimeout     = 3 * time.Second  // to an agent's HTTP door
	readyInterval   = 50 * time.Millisecond
)

// Master is one master: its part in the replicated state, the loop that leads
// when it is this one's turn, and the HTTP interface.
type Master struct {
	config   Config
	logger   hclog.Logger
	listener net.Listener
	address  string // advertised
	replica  *replica.Replica
	loop     *loop
	api      *api
	ready    chan struct{} // closed once requests can be served
}

// Open opens the data folder and both ports. Run must follow, and ends both.
func Open(c Config) (_ *Master, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	m := &Master{config: c, logger: c.Logger, ready: make(chan struct{})}
	if m.listener, err = net.Listen("tcp", c.HTTP); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	defer func() {
		if err != nil {
			_ = m.listener.Close()
		}
	}()
	if m.address, err = replica.Advertised(m.listener.Addr(), c.AdvertiseHTTP); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	f := newFeed()
	if m.replica, err = replica.Open(replica.Config{
		Watcher: f,
		Name:    c.Name, DataDir: c.DataDir, Listen: c.Raft, Advertise: c.AdvertiseRaft, HTTP: m.address,
		BootstrapExpect: c.BootstrapExpect, Join: c.Join, Door: c.Door, Logger: c.Logger,
	}); err != nil {
		return nil, err
	}
	agents := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:     c.Door.ClientTLS(),
		TLSHandshakeTimeout: headerTimeout, ResponseHeaderTimeout: headerTimeout,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	of := m.config.forLoop(m.replica.Self().Name, m.address, f)
	of.call = (&caller{c.Door, agents}).call
	m.loop = newLoop(of, m.replica, m.logger)
	m.api = &api{
		loop: m.loop, replica: m.replica, feed: f, meters: m.loop.meters, tracer: c.Tracer, door: c.Door, logger: m.logger, version: c.Version,
		framework: m.loop.serveFramework, agent: m.loop.serveAgent, follower: m.loop.serveFollower,
		silence: min(agentSilence, m.config.AgentTimeout), hold: electionHold, entrance: newGate(), looks: newGate(), unsent: wire.NewUnsent(unsentSize),
		agents: agents,
	}
	m.api.build()
	return m, nil
}

// Address returns host:port under which others reach this master over HTTP.
func (m *Master) Address() string { return m.address }

// Ready is closed once requests can be served: there is a leader, and this
// master redirects to it or is it.
func (m *Master) Ready() <-chan struct{} { return m.ready }

// Run serves until ctx ends or the disk can't be written, hands leadership
// over, and stops everything. It is called once.
func (m *Master) Run(ctx context.Context) error {
	requests, endRequests := context.WithCancel(context.Background())
	arrivals := newArrivals(m.listener)
	server := &http.Server{
		ConnState: arrivals.arrived,
		Handler:   door.Patient(m.api), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog:    m.logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		BaseContext: func(net.Listener) context.Context { return requests },
	}
	leading, stopLeading := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.loop.run(leading) })
	running.Go(func() { m.awaitReady(requests) })
	if m.config.PrematchFollow {
		running.Go(func() {
			(&following{m.replica, m.config.Door, m.config.Version, m.config.Prematchers, m.logger}).run(leading)
		})
	}
	running.Go(func() { m.api.count(requests) })
	served := make(chan error, 1)
	running.Go(func() { served <- server.Serve(m.secured(arrivals)) })

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("http: %w", err)
	case <-m.replica.Failed():
		err = m.replica.Failure()
	}
	stopLeading() // ends the sessions too
	endRequests()
	m.stop(server)
	err = errors.Join(err, m.replica.Close())
	m.api.sessions.Wait()
	running.Wait()
	return err
}

// stop ends the HTTP interface; requests under way have a moment to finish.
func (m *Master) stop(server *http.Server) {
	limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if server.Shutdown(limit) != nil {
		_ = server.Close()
	}
	if t, ok := m.api.agents.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

func (m *Master) secured(l net.Listener) net.Listener {
	if conf := m.config.Door.ServerTLS(); conf != nil {
		conf.NextProtos = []string{"http/1.1"} // websockets need it
		return tls.NewListener(l, conf)
	}
	return l
}

// awaitReady looks now and then, at the start only, whether the cluster serves.
func (m *Master) awaitReady(ctx context.Context) {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for m.api.ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	close(m.ready)
}
