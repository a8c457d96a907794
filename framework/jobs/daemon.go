package jobs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// Daemon is one instance of the jobs framework.
type Daemon struct {
	config   Config
	listener net.Listener
	url      string // that the masters are told

	ready     chan struct{} // closed when it works or stands by
	readyOnce sync.Once
	current   atomic.Pointer[leader] // nil while it does not work
}

// Open listens and returns a daemon that does nothing yet.
func Open(config Config) (*Daemon, error) {
	config, err := config.filled()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", config.HTTP)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	at := config.Advertise
	if at == "" {
		at = l.Addr().String()
	}
	d := &Daemon{config: config, url: config.Door.Scheme() + "://" + at, ready: make(chan struct{})}
	d.listener = l
	if conf := config.Door.ServerTLS(); conf != nil {
		d.listener = tls.NewListener(l, conf)
	}
	return d, nil
}

// Address returns the host:port it listens on.
func (d *Daemon) Address() string { return d.listener.Addr().String() }

// Ready is closed when the daemon works, or stands by for one that does.
func (d *Daemon) Ready() <-chan struct{} { return d.ready }

// pause is between two tries to work.
const pause = 300 * time.Millisecond

// Run works or stands by until ctx ends. It returns an error only where no
// other try can help.
func (d *Daemon) Run(ctx context.Context) error {
	server := &http.Server{Handler: door.Patient(d.handler()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: d.config.Logger.StandardLogger(nil)}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
			d.config.Logger.Error("jobs can't be reached any more", "error", err)
		}
	})
	defer serving.Wait()
	defer server.Close()
	for ctx.Err() == nil {
		err := d.try(ctx)
		if hopeless(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			d.config.Logger.Warn("not working; trying again", "error", err)
		}
		sleep(ctx, pause)
	}
	return nil
}

// hopeless are errors that another try would meet again.
func hopeless(err error) bool {
	return errors.Is(err, &offers.Error{Code: offers.Unauthenticated}) || errors.Is(err, &offers.Error{Code: offers.Forbidden})
}

// try stands by until it is this daemon's turn, and works until it isn't.
func (d *Daemon) try(ctx context.Context) error {
	id, err := d.standBy(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	return d.lead(ctx, id)
}

// standBy waits until the framework is not connected, and returns its id, ""
// where there is none. One that was seen connected has to be missed twice: it
// comes back by itself after a change of the leading master.
func (d *Daemon) standBy(ctx context.Context) (offers.FrameworkID, error) {
	for missed := 1; ; missed++ {
		known, err := d.config.Directory.Frameworks(ctx)
		if err != nil {
			return "", err
		}
		if len(known) == 0 {
			return "", nil
		}
		if known[0].Connected {
			missed = -1
		}
		if missed > 0 {
			return known[0].ID, nil
		}
		d.readyOnce.Do(func() { close(d.ready) })
		sleep(ctx, d.config.StandBy)
		if ctx.Err() != nil {
			return "", nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
