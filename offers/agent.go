package offers

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Agent is what an agent says about itself when it registers, and what the
// masters agree on about it.
type Agent struct {
	ID         AgentID           `json:"id"`
	Name       string            `json:"name"`
	Host       string            `json:"host"`
	Address    string            `json:"address"`          // host:port of its HTTP door, without a scheme; "" has none
	Secure     bool              `json:"secure,omitempty"` // its HTTP door speaks TLS
	Attributes map[string]string `json:"attributes"`
	Total      Inventory         `json:"total"`
	Policies   map[string]Policy `json:"device_policy,omitempty"` // by class; "" is the default for all
	Version    string            `json:"version"`
	BootID     string            `json:"boot_id,omitempty"` // of the host's running kernel
	Started    time.Time         `json:"started"`
}

// Attribute returns the value that constraints see under that name.
func (a *Agent) Attribute(name string) (string, bool) {
	if v, ok := a.Attributes[name]; ok {
		return v, true
	}
	switch name {
	case "host":
		return a.Host, true
	case "name":
		return a.Name, true
	case "id":
		return string(a.ID), true
	}
	return "", false
}

// Policy returns how the agent binds devices of a class when a demand has no
// policy of its own.
func (a *Agent) Policy(class string) Policy {
	if p, ok := a.Policies[class]; ok {
		return p
	}
	if p, ok := a.Policies[""]; ok {
		return p
	}
	return Pack
}

// Validate refuses names that are not printable or too long, an address that is
// none and impossible inventories. Without an address nobody reaches what its
// tasks write.
func (a *Agent) Validate() error {
	for field, text := range map[string]string{"name": a.Name, "host": a.Host, "address": a.Address, "version": a.Version, "boot_id": a.BootID} {
		if len(text) > 256 || !Printable(text) {
			return fmt.Errorf("agent %s is longer than 256 bytes or not printable", field)
		}
	}
	if a.Name == "" {
		return fmt.Errorf("agent name is empty")
	}
	if a.Address != "" && !isAddress(a.Address) {
		return fmt.Errorf("agent address %q is not HOST:PORT, where others reach it", clip(a.Address))
	}
	if len(a.Attributes) > 256 {
		return fmt.Errorf("agent has %d attributes; at most 256", len(a.Attributes))
	}
	for k, v := range a.Attributes {
		if k == "" || len(k) > 256 || len(v) > 256 || !Printable(k) || !Printable(v) {
			return fmt.Errorf("agent attribute %q: name and value are printable and at most 256 bytes", clip(k))
		}
	}
	if len(a.Policies) > maxClasses {
		return fmt.Errorf("agent has device policies for %d classes; at most %d", len(a.Policies), maxClasses)
	}
	for class, p := range a.Policies {
		if len(class) > 64 {
			return fmt.Errorf("device_policy: the class %q is longer than 64 bytes", clip(class))
		}
		if err := p.Validate(); err != nil {
			return err
		}
	}
	if err := a.Total.Validate(); err != nil {
		return fmt.Errorf("total: %w", err)
	}
	return nil
}

// isAddress reports that a text is the host, a name or an IP address, and the
// port of something that others can connect to.
func isAddress(text string) bool {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Port() != 0
	}
	host, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 10, 16)
	return err == nil && port != 0 && wordy(host, 253)
}

// AgentState is where an agent is in its life.
type AgentState string

// The states of an agent.
const (
	AgentActive      AgentState = "active"
	AgentDraining    AgentState = "draining"    // gets no offers, its tasks end
	AgentDrained     AgentState = "drained"     // draining, and no task left
	AgentUnreachable AgentState = "unreachable" // silent for longer than the agent timeout
	AgentGone        AgentState = "gone"        // removed for good
)
