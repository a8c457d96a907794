package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Label is the framework label that holds the URL of the daemon that works.
// The masters pass /v1/jobs on to it.
const Label = wire.JobsLabel

// Name is what the framework is called.
const Name = "jobs"

// failover is how long the jobs survive without any daemon.
const failover = offers.Duration(365 * 24 * time.Hour)

// Directory tells which jobs frameworks the cluster has.
type Directory interface {
	// Frameworks returns those with the label [Label] that are not removed,
	// the eldest first, as a majority of the masters knows them.
	Frameworks(context.Context) ([]Known, error)
}

// Known is one framework of the cluster.
type Known struct {
	ID        offers.FrameworkID
	Connected bool
}

// Config says where the masters are and how the daemon is reached.
type Config struct {
	Masters   []string // host:port
	Role      offers.Role
	HTTP      string // host:port to listen on
	Advertise string // host:port under which the masters reach it; "" is where it listens
	Directory Directory
	Door      *door.Door
	Tracer    offers.Tracer // of what becomes of instances; nil: none
	Logger    hclog.Logger  // nil is silent

	// StandBy is how often a daemon looks whether the one that works is still
	// connected; 0 means 1 s.
	StandBy time.Duration

	// connect is for tests; nil connects.
	connect func(context.Context, framework.Config) (*framework.Client, error)
}

func (c Config) filled() (Config, error) {
	if c.Directory == nil {
		return c, errors.New("jobs: a directory is needed")
	}
	if err := c.Door.MayServe(c.HTTP); err != nil {
		return c, fmt.Errorf("http: %w", err)
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.StandBy <= 0 {
		c.StandBy = time.Second
	}
	if c.connect == nil {
		c.connect = framework.Connect
	}
	return c, nil
}

// root begins traces; nil: there are none.
func (c *Config) root() func() offers.Traceparent {
	if c.Tracer == nil {
		return nil
	}
	return c.Tracer.Root
}

func (c *Config) client(id offers.FrameworkID, url string) framework.Config {
	timeout := failover
	return framework.Config{
		Masters: c.Masters, Door: c.Door, Logger: c.Logger, Hold: true,
		Info: wire.FrameworkInfo{ID: id, Name: Name, Role: c.Role, FailoverTimeout: &timeout, Labels: map[string]string{Label: url}},
	}
}
