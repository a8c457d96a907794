package offers

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Container says which image a task runs in, and how. Without it a task is a
// process of its host.
//
// The task's argv is given to the entrypoint (the image's, or Entrypoint) as
// its arguments; a shell replaces the image's entrypoint with /bin/sh -c; a
// task without command runs what the image says.
type Container struct {
	Image      string          `json:"image"`
	Pull       Pull            `json:"pull,omitempty"`
	Entrypoint []string        `json:"entrypoint,omitempty"` // instead of the image's
	Mounts     []Mount         `json:"mounts,omitempty"`
	Network    string          `json:"network,omitempty"` // bridge, host, none or a network's name; "" means bridge
	Ports      []ContainerPort `json:"ports,omitempty"`   // the first is reached at the task's first port, and so on
}

// Pull says when an image is fetched. The empty policy means PullMissing.
type Pull string

// When an image is fetched from its registry.
const (
	PullMissing Pull = "missing" // where the host does not have it
	PullAlways  Pull = "always"  // before every start
	PullNever   Pull = "never"
)

// Networks that every engine has.
const (
	NetworkBridge = "bridge"
	NetworkHost   = "host"
	NetworkNone   = "none"
)

// Mount shows a file or folder of the host to a container.
type Mount struct {
	Source   string `json:"source"` // on the host, absolute
	Target   string `json:"target"` // in the container, absolute
	ReadOnly bool   `json:"read_only,omitempty"`
}

// ContainerPort is a port that a program in a container listens on. In JSON it
// is a number, or "53/udp" where it is not TCP.
type ContainerPort struct {
	Port uint16
	UDP  bool
}

// SandboxMount is where a container finds its task's sandbox, which is also
// in RINGMASTER_SANDBOX.
const SandboxMount = "/ringmaster/sandbox"

// String returns the port as engines write it, "80/tcp".
func (p ContainerPort) String() string {
	if p.UDP {
		return strconv.Itoa(int(p.Port)) + "/udp"
	}
	return strconv.Itoa(int(p.Port)) + "/tcp"
}

// MarshalJSON writes TCP ports as numbers.
func (p ContainerPort) MarshalJSON() ([]byte, error) {
	if p.UDP {
		return json.Marshal(p.String())
	}
	return json.Marshal(p.Port)
}

// UnmarshalJSON reads 80, "80", "80/tcp" and "53/udp".
func (p *ContainerPort) UnmarshalJSON(data []byte) error {
	number, protocol, _ := strings.Cut(strings.Trim(string(data), `"`), "/")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || protocol != "" && protocol != "tcp" && protocol != "udp" {
		return fmt.Errorf("ports: %s is no port such as 80 or \"53/udp\"", clip(string(data)))
	}
	*p = ContainerPort{Port: uint16(n), UDP: protocol == "udp"}
	return nil
}

// HasDocker is the condition that agents meet where containers run.
func HasDocker() Constraint {
	return Constraint{text: "docker==true", attr: "docker", op: "==", values: []string{"true"}}
}

const maxMounts = 64

// validate refuses what no agent would run; the error begins with the field.
func (c *Container) validate(t *Task) error {
	switch {
	case c.Image == "" || len(c.Image) > 512 || strings.ContainsAny(c.Image, " ?#%\\") || !Printable(c.Image) || strings.HasPrefix(c.Image, "-"):
		return fmt.Errorf("image %q can't be the name of an image", clip(c.Image))
	case !slices.Contains([]Pull{"", PullMissing, PullAlways, PullNever}, c.Pull):
		return fmt.Errorf("pull is %q; it is missing, always or never", clip(string(c.Pull)))
	case len(c.Entrypoint) > 0 && c.Entrypoint[0] == "" || strings.ContainsRune(strings.Join(c.Entrypoint, ""), 0):
		return fmt.Errorf("entrypoint: the program's name is empty, or there is a zero byte")
	case len(c.Entrypoint) > 0 && t.Command != nil && t.Command.Shell != "":
		return fmt.Errorf("entrypoint and command.shell are both given; one of them runs")
	case c.Network != "" && !wordy(c.Network, 128):
		return fmt.Errorf("network %q is no name of a network; it is bridge, host, none or one that the agents have", clip(c.Network))
	}
	if err := c.validatePorts(t.Resources.Ports); err != nil {
		return err
	}
	return c.validateMounts()
}

func (c *Container) validatePorts(held Ports) error {
	if len(c.Ports) == 0 {
		return nil
	}
	if c.Network == NetworkHost || c.Network == NetworkNone {
		return fmt.Errorf("ports: nothing is published on the network %s; a program on the host's listens on PORT0 itself", c.Network)
	}
	if n := len(held.Each()); len(c.Ports) > n {
		return fmt.Errorf("ports names %d and resources.ports holds %d; each is reached at one of those", len(c.Ports), n)
	}
	for i, p := range c.Ports {
		if slices.Contains(c.Ports[:i], p) {
			return fmt.Errorf("ports names %s twice", p)
		}
	}
	return nil
}

// validateMounts refuses paths that are not what they look like, and targets
// that would hide what a container is made of.
func (c *Container) validateMounts() error {
	if len(c.Mounts) > maxMounts {
		return fmt.Errorf("mounts: there are %d; at most %d", len(c.Mounts), maxMounts)
	}
	for i, m := range c.Mounts {
		for field, p := range map[string]string{"source": m.Source, "target": m.Target} {
			if !path.IsAbs(p) || path.Clean(p) != p || !Printable(p) {
				return fmt.Errorf("mounts: %s %q is not an absolute path without . and .. and a slash at its end", field, clip(p))
			}
		}
		for _, taken := range []string{"/proc", "/sys", "/dev", path.Dir(SandboxMount)} {
			if m.Target == "/" || m.Target == taken || strings.HasPrefix(m.Target, taken+"/") {
				return fmt.Errorf("mounts: target %q is the container's own; choose another", clip(m.Target))
			}
		}
		if slices.ContainsFunc(c.Mounts[:i], func(o Mount) bool { return o.Target == m.Target }) {
			return fmt.Errorf("mounts: target %q is named twice", clip(m.Target))
		}
	}
	return nil
}
