package agent

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/isolation"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
	"github.com/ringmaster-project/ringmaster/offers/witness"
)

// Config is what an agent is told.
type Config struct {
	Name             string                   // unique in the cluster
	Masters          []string                 // host:port of the masters' HTTP doors, at least one
	DataDir          string                   // its checkpoint, shims and sandboxes; made if it is not there
	HTTP             string                   // where it serves its sandboxes; "" means 127.0.0.1:0
	Resources        string                   // declared, see agent/inventory; what is not named is detected
	Attributes       map[string]string        // what constraints see
	NVIDIA           string                   // path of a program that asks NVIDIA's driver; "" means the embedded one, where that driver is
	DevicePlugins    []string                 // programs that find devices, see agent/discovery
	Policies         map[string]offers.Policy // how devices are bound, by class; "" for all
	Version          string                   // of the program
	Shim             string                   // path of a shim program; "" means the embedded one
	KillTasksOnClose bool                     // end the tasks when Run ends
	CgroupRoot       string                   // of the tasks' cgroups in each hierarchy; "" means ringmaster, "none" no limits
	Executors        []string                 // ProcessExecutor, DockerExecutor; none means process, and docker where an engine answers
	DockerSocket     string                   // of the engine; "" means /var/run/docker.sock
	EnginePatience   time.Duration            // how long the engine may not answer before containers are refused; 0 means a minute
	Isolation        *isolation.Parts         // of the tasks, each of which this host must be able to do; nil means what works of the default
	Capabilities     uint64                   // that tasks keep, one bit for each
	Rlimits          []record.Rlimit          // of tasks, above the defaults
	CPUQuota         bool                     // cpus are a ceiling for a task, and not a weight alone
	RuntimeDir       string                   // holds what must not outlive the host's run; "" means /dev/shm
	ArtifactRoots    []string                 // folders that file URIs of artifacts may read, whoever's the task is
	ArtifactCache    int64                    // bytes of artifacts that are kept, and of the largest that is fetched; 0 means 10 GiB
	LogSize          int64                    // bytes that are kept of each of a task's logs; 0 means all
	SandboxAge       time.Duration            // after which sandboxes of ended tasks go; 0 means a week
	Tracer           offers.Tracer            // of what becomes of tasks; nil: none
	Door             *door.Door
	Logger           hclog.Logger
}

const noCgroups = "none"

func (c *Config) validate() error {
	switch {
	case c.Name == "" || len(c.Name) > 256 || !offers.Printable(c.Name):
		return fmt.Errorf("name %.60q is empty, longer than 256 bytes or not printable", c.Name)
	case len(c.Masters) == 0:
		return errors.New("masters: give at least one host:port")
	case c.DataDir == "":
		return errors.New("data_dir is missing: the agent keeps its tasks there")
	case c.Door == nil || c.Logger == nil:
		return errors.New("door and logger are missing")
	}
	for _, m := range c.Masters {
		if _, _, err := net.SplitHostPort(m); err != nil {
			return fmt.Errorf("masters: %.100q is not host:port", m)
		}
	}
	for _, path := range c.DevicePlugins {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("device_plugins: %.100q is not an absolute path", path)
		}
	}
	for class, p := range c.Policies {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("class %q: %w", class, err)
		}
	}
	if c.EnginePatience <= 0 {
		c.EnginePatience = time.Minute
	}
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:0"
	}
	if c.RuntimeDir == "" {
		c.RuntimeDir = witness.Memory
	}
	if c.DockerSocket == "" {
		c.DockerSocket = docker.DefaultSocket
	}
	if c.CgroupRoot == "" {
		c.CgroupRoot = "ringmaster"
	}
	if c.SandboxAge == 0 {
		c.SandboxAge = 7 * 24 * time.Hour
	}
	return nil
}
