package docker

import (
	"maps"
	"strconv"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/offers"
)

const pullAlways = offers.PullAlways

// Spec is what a container is made of.
type Spec struct {
	Key        string // names the task on this agent
	Labels     map[string]string
	Image      string
	Pull       offers.Pull
	Entrypoint []string // nil: the image's
	Args       []string // nil: the image's
	Env        []string // beside the image's
	User       string   // "uid:gid"; "" for the image's
	Dir        string   // in the container; "" for the image's
	Sandbox    string   // on the host; mounted at offers.SandboxMount
	Mounts     []offers.Mount
	Network    string
	Ports      map[offers.ContainerPort]uint16 // published at these of the host's
	Devices    []string                        // by their names in the Container Device Interface
	Need       limits.Need

	Fetching func()                      // called before the image is fetched
	Hand     func(uid, gid uint32) error // gives the sandbox to the image's user
}

func (s *Spec) mayFetch() bool { return s.Pull != offers.PullNever && s.Pull != pullAlways }

// unlimited would let a task that writes much lose its beginning before the
// agent has read it. The engine wants a number.
var unlimited = logConfig{Type: "local", Config: map[string]string{"max-size": "1000000g", "max-file": "1", "compress": "false"}}

// body says the same to the engine, but for the devices.
func (s *Spec) body() createBody {
	b := createBody{
		Image: s.Image, Entrypoint: s.Entrypoint, Cmd: s.Args, Env: s.Env, User: s.User, WorkingDir: s.Dir,
		Labels: map[string]string{},
		HostConfig: hostConfig{
			NetworkMode: s.Network, LogConfig: unlimited,
			Mounts:    []mount{{Type: "bind", Source: s.Sandbox, Target: offers.SandboxMount}},
			CPUShares: s.Need.Shares(), Memory: s.Need.Mem, MemorySwap: s.Need.Mem, PidsLimit: s.Need.Processes,
		},
	}
	maps.Copy(b.Labels, s.Labels)
	for _, m := range s.Mounts {
		b.HostConfig.Mounts = append(b.HostConfig.Mounts, mount{Type: "bind", Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for port, at := range s.Ports {
		if b.ExposedPorts == nil {
			b.ExposedPorts, b.HostConfig.PortBindings = map[string]struct{}{}, map[string][]portBinding{}
		}
		b.ExposedPorts[port.String()] = struct{}{}
		b.HostConfig.PortBindings[port.String()] = []portBinding{{HostPort: strconv.Itoa(int(at))}}
	}
	return b
}
