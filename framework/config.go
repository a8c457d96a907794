package framework

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Config says where the masters are and who the framework is.
type Config struct {
	Masters []string           // host:port of the masters' HTTP doors, at least one; any order
	Info    wire.FrameworkInfo // Name and Role; with an ID it takes over from its former self
	Door    *door.Door         // token and TLS; nil where the cluster asks for neither
	Logger  hclog.Logger       // one line per change of state; nil is silent
	Queue   int                // events that may wait for Next; 0 means 1024

	// Hold leaves every update unacknowledged until Client.Acknowledge is
	// called with it, in any order: for a framework that writes down what it
	// learned while it goes on.
	Hold bool

	// Dial connects to a websocket URL; nil dials it. Tests and simulations
	// give the end of a wire.Pipe.
	Dial func(ctx context.Context, url string) (wire.Link, error)
}

const defaultQueue = 1024

// sendQueue holds what one burst of offers may be answered with.
const sendQueue = 1 << 14

func (c Config) filled() (Config, error) {
	if len(c.Masters) == 0 {
		return c, errors.New("masters is empty: name the host:port of at least one master")
	}
	if c.Door == nil {
		open, err := door.Open(door.Config{})
		if err != nil {
			return c, err
		}
		c.Door = open
	}
	urls := make([]string, len(c.Masters))
	for i, m := range c.Masters {
		at, err := c.url(m)
		if err != nil {
			return c, err
		}
		urls[i] = at
	}
	c.Masters = urls
	if c.Info.Role == "" {
		c.Info.Role = "default"
	}
	if err := c.Info.Role.Validate(); err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Queue <= 0 {
		c.Queue = defaultQueue
	}
	if c.Dial == nil {
		c.Dial = c.dial
	}
	return c, nil
}

// url accepts host:port and http(s)://host:port.
func (c Config) url(master string) (string, error) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(master), "://")
	if !found {
		scheme, rest = c.scheme(), scheme
	}
	rest = strings.TrimSuffix(rest, "/")
	host, port, err := net.SplitHostPort(rest)
	if err != nil || host == "" || port == "" || strings.ContainsAny(rest, "/?#@ ") {
		return "", fmt.Errorf("master %q is not host:port", master)
	}
	switch scheme {
	case "http", "ws":
		scheme = "ws"
	case "https", "wss":
		scheme = "wss"
	default:
		return "", fmt.Errorf("master %q: give host:port or http(s)://host:port", master)
	}
	return scheme + "://" + rest + wire.FrameworkPath, nil
}

func (c Config) scheme() string {
	if c.Door.ClientTLS() != nil {
		return "wss"
	}
	return "ws"
}

// dial never shows the token on a plain connection that a redirect leads to
// when TLS was asked for.
func (c Config) dial(ctx context.Context, at string) (wire.Link, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if c.Door.ClientTLS() != nil && u.Scheme != "wss" {
		return nil, fmt.Errorf("dial %s: TLS is configured and this master does not speak it", at)
	}
	conn, err := wire.Dial(ctx, at, wire.FrameworkProtocol, c.Door.Header(), c.Door.ClientTLS(), wire.Options{Queue: sendQueue, Compact: true})
	if err != nil {
		return nil, err
	}
	return conn, nil
}
