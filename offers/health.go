package offers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Health is how an agent finds out whether a running task is well: by exactly
// one of Command, HTTP and TCP. A task that fails Failures checks in a row is
// ended and has failed.
type Health struct {
	Command  *Command  `json:"command,omitempty"`  // well if it ends with 0; runs like the task and beside it, in its container
	HTTP     *HTTPPing `json:"http,omitempty"`     // well if it answers with a status from 200 to 399
	TCP      *TCPPing  `json:"tcp,omitempty"`      // well if it can be connected to
	Delay    Duration  `json:"delay,omitempty"`    // from the task's start to the first check
	Interval Duration  `json:"interval,omitempty"` // from the end of a check to the next; 0 means 10 s
	Timeout  Duration  `json:"timeout,omitempty"`  // of one check; 0 means 5 s
	Failures int       `json:"failures,omitempty"` // 0 means 3
	Grace    Duration  `json:"grace,omitempty"`    // from the task's start: failures don't count until then or the first success
}

// HTTPPing asks a server on the task's host.
type HTTPPing struct {
	Port   int    `json:"port,omitempty"`   // 0 means the task's first
	Path   string `json:"path,omitempty"`   // "" means /
	Scheme string `json:"scheme,omitempty"` // http, or https with whatever certificate; "" means http
}

// TCPPing connects to the task's host.
type TCPPing struct {
	Port int `json:"port,omitempty"` // 0 means the task's first
}

const minHealthInterval = Duration(100 * time.Millisecond)

// Every returns how long after a check the next one follows.
func (h *Health) Every() time.Duration { return cmp.Or(h.Interval, Duration(10*time.Second)).Std() }

// Patience returns how long a check may take.
func (h *Health) Patience() time.Duration { return cmp.Or(h.Timeout, Duration(5*time.Second)).Std() }

// Most returns how many failures in a row end the task.
func (h *Health) Most() int { return cmp.Or(h.Failures, 3) }

// validate names the field at fault, as seen from health.
func (h *Health) validate(ports Ports) error {
	kinds := 0
	for _, given := range []bool{h.Command != nil, h.HTTP != nil, h.TCP != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return errors.New(": give exactly one of command, http and tcp")
	case h.Interval != 0 && h.Interval < minHealthInterval:
		return fmt.Errorf(".interval: %s is less than %s", h.Interval, minHealthInterval)
	case h.Failures < 0 || h.Failures > 1000:
		return fmt.Errorf(".failures: %d is not from 1 to 1000", h.Failures)
	case h.Command != nil:
		return h.Command.validateCheck()
	case h.HTTP != nil:
		return h.HTTP.validate(ports)
	}
	return validPort(".tcp.port", h.TCP.Port, ports)
}

func (c *Command) validateCheck() error {
	if c.User != "" || c.Dir != "" {
		return errors.New(".command: user and dir are the task's own and can't be given")
	}
	if len(c.Argv) == 0 && c.Shell == "" {
		return errors.New(".command.argv or command.shell is missing")
	}
	if err := c.validate(); err != nil {
		return fmt.Errorf(".command.%w", err)
	}
	return nil
}

func (p *HTTPPing) validate(ports Ports) error {
	switch {
	case p.Scheme != "" && p.Scheme != "http" && p.Scheme != "https":
		return fmt.Errorf(".http.scheme: %q is not http or https", clip(p.Scheme))
	case p.Path != "" && (!strings.HasPrefix(p.Path, "/") || !Printable(p.Path) || strings.ContainsAny(p.Path, " #") || len(p.Path) > 2048):
		return fmt.Errorf(".http.path: %q is not a path that begins with a slash", clip(p.Path))
	}
	return validPort(".http.port", p.Port, ports)
}

func validPort(field string, port int, ports Ports) error {
	switch {
	case port < 0 || port > 65535:
		return fmt.Errorf("%s: %d is no port", field, port)
	case port == 0 && len(ports) == 0:
		return fmt.Errorf("%s is missing, and the task asks for no ports of which it could be the first", field)
	}
	return nil
}
