package record

// Isolation is what a task is kept from, beside its cgroups. The zero value
// keeps it from nothing.
type Isolation struct {
	Mount bool `json:"mount,omitempty"` // its shim is in a mount namespace of its own, in which the kernel's settings are read-only
	IPC   bool `json:"ipc,omitempty"`   // and in an ipc namespace of its own, with a /dev/shm of its own where Mount is set
	PID   bool `json:"pid,omitempty"`   // and the first process of a pid namespace; with Mount only

	Privileges bool     `json:"privileges,omitempty"` // it gains none, and has no capabilities but Keep
	Keep       uint64   `json:"keep,omitempty"`       // one bit for each capability
	Rlimits    []Rlimit `json:"rlimits"`
}

// Rlimit bounds one resource of every process of a task, see setrlimit(2), as
// far as the agent's own hard limit goes.
type Rlimit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
	Hard     uint64 `json:"hard"`
}

// MaxCapability is the highest capability that a bit of Keep can name.
const MaxCapability = 63
