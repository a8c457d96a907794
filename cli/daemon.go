package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/master/replica"
)

// openLog returns the log of a daemon, on standard error. A cluster of one
// always starts with an election, which is nothing to warn about.
func openLog(s *settings, kind string, w io.Writer) hclog.Logger {
	opts := &hclog.LoggerOptions{
		Name: kind, Level: hclog.LevelFromString(s.logLevel), Output: w, JSONFormat: s.logJSON,
	}
	if kind == "dev" {
		opts.Exclude = hclog.ExcludeByPrefix("heartbeat timeout reached").Exclude
	}
	return hclog.New(opts)
}

// reloading reads the configuration again at every SIGHUP and changes what
// can change live, which is the level of the log. The returned function ends
// it and waits.
func reloading(c *cli.Context, log hclog.Logger, defaults func() *settings, opts []option) func() {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(c.Context)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hup:
				reload(c, log, defaults(), opts)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(hup)
		cancel()
		<-done
	}
}

func reload(c *cli.Context, log hclog.Logger, defaults *settings, opts []option) {
	s, err := configure(c, defaults, opts)
	if err != nil {
		log.Error("the configuration was not read again; the old one stays", "error", err)
		return
	}
	log.SetLevel(hclog.LevelFromString(s.logLevel))
	log.Info("read the configuration again; the log level is in force, the rest at the next start", "log_level", s.logLevel)
}

// service is a daemon as the command line sees it.
type service interface {
	// Run serves until the context ends, which is a good end, or it can't go on.
	Run(context.Context) error
	// Address is the host:port that HTTP really listens on.
	Address() string
}

// running is a service under way.
type runningService struct {
	service
	cancel context.CancelFunc
	done   chan struct{} // closed when Run has returned
	err    error         // why, readable after done
}

// start runs s until stop is called or it fails.
func start(ctx context.Context, s service) *runningService {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &runningService{service: s, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = s.Run(ctx)
	}()
	return r
}

// stop ends the service, waits for it, and returns why it ended.
func (r *runningService) stop() error {
	r.cancel()
	<-r.done
	if errors.Is(r.err, context.Canceled) {
		return nil
	}
	return r.err
}

var errStopped = errors.New("it stopped before it was ready")

// until waits for ready; an end of the service or of ctx comes first as an error.
func (r *runningService) until(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-r.done:
		if r.err != nil {
			return r.err
		}
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve is the life of a daemon of its own: start, one ready line, work until
// a signal, a clean stop.
func serve(c *cli.Context, s service, ready <-chan struct{}, scheme string) error {
	r := start(c.Context, s)
	err := r.until(c.Context, ready)
	if err == nil {
		if err = sayReady(c.App.Writer, scheme+"://"+r.Address()); err == nil {
			select {
			case <-c.Context.Done():
			case <-r.done:
			}
			err = tellSystemd(daemon.SdNotifyStopping)
		}
	}
	if stopErr := r.stop(); stopErr != nil {
		return addressInUse(stopErr)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// sayReady tells whoever started the daemon that it serves at url.
func sayReady(out io.Writer, url string) error {
	if _, err := fmt.Fprintf(out, "ready %s\n", url); err != nil {
		return err
	}
	return tellSystemd(daemon.SdNotifyReady + "\nSTATUS=serves at " + url)
}

// tellSystemd sends a state to the service manager, if one has started this
// process (sd_notify(3)).
func tellSystemd(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("telling systemd through NOTIFY_SOCKET: %w", err)
	}
	return nil
}

// addressInUse says what to do where a port is taken already.
func addressInUse(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	at, flag := "the address", "--http"
	if errors.Is(err, replica.ErrListen) {
		flag = "--raft"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		at = op.Addr.String()
	}
	return fmt.Errorf("%s is in use, maybe by another ringmaster: stop it, or give another %s", at, flag)
}
