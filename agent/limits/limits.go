package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/hashicorp/go-hclog"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// None returns limits that limit nothing.
func None() *Limits { return &Limits{} }

const mountpoint = "/sys/fs/cgroup"

// Need is what one task may use; 0 in a kind leaves it unlimited.
type Need struct {
	CPUs      int64 // thousandths of a core: a weight
	Quota     bool  // and a ceiling too
	Mem       int64 // bytes
	Processes int64
	Nodes     Nodes
}

// Shares returns the weight as cgroups of version 1 count it, 0 for none.
func (n Need) Shares() int64 {
	if n.CPUs <= 0 {
		return 0
	}
	return min(max(2, n.CPUs*1024/1000), 262144)
}

// weight is the same for version 2, where what says nothing weighs 100: a core.
// What is usually done to shares would make a tenth of a core weigh a sixth of
// a core.
func (n Need) weight() uint64 { return uint64(min(max(1, n.CPUs/10), 10000)) }

// Limits makes the groups of one agent. Safe for concurrent use.
type Limits struct {
	make    func(key string, need Need) (*Group, error) // nil: this host has none
	root    string
	shims   string // version 2: folder of the group of all shims
	devices bool   // device nodes are governed
	swap    bool   // version 2: memory that goes to swap is limited too
}

// Group is what one task is held in. The nil group holds nothing.
type Group struct {
	folders []string // every folder of it, one for each hierarchy
	leaf    string   // version 2: where the task is born
	shim    string   // version 2: where agents put its shim before there was a group of all shims
	oom     string   // file with the count of kills for memory
}

// Open finds out what this host can do by making and removing a group under
// root, a path from the top of each hierarchy. When it can't it logs why,
// once, and returns limits that limit nothing.
func Open(root string, log hclog.Logger) *Limits {
	l := &Limits{root: filepath.Join("/", root)}
	switch cgroups.Mode() {
	case cgroups.Unified:
		l.make = l.unified
	case cgroups.Legacy, cgroups.Hybrid:
		l.make = l.legacy
	}
	if l.make == nil {
		log.Warn("tasks run without limits: this host has no cgroups")
		return l
	}
	all := Need{CPUs: 1000, Mem: 64 << 20, Processes: 64}
	l.swap = true
	err := l.try(all)
	if err != nil { // a kernel without swap, or one that does not count it, has no limit of it
		l.swap = false
		err = l.try(all)
	}
	if err == nil && cgroups.Mode() == cgroups.Unified {
		err = l.makeShims(mountpoint)
	}
	if err != nil {
		log.Warn("tasks run without limits: this host lets the agent make no cgroups", "error", err)
		l.make = nil
		return l
	}
	l.devices = true
	if err := l.try(Need{Nodes: Nodes{Governed: []string{os.DevNull}}}); err != nil {
		log.Warn("tasks open device nodes that are not theirs: this host lets the agent govern none", "error", err)
		l.devices = false
	}
	return l
}

// try makes and removes a group.
func (l *Limits) try(need Need) error {
	probe, err := l.Group("probe", need)
	if err != nil {
		return err
	}
	return probe.Delete()
}

// Active reports whether tasks are limited at all.
func (l *Limits) Active() bool { return l.make != nil }

// Devices reports whether tasks are kept from the device nodes of others.
func (l *Limits) Devices() bool { return l.devices }

// Group makes the group of a task. In version 1 one that is there is kept, with
// its limits set anew; in version 2 it goes first, with all that is in it.
// Without limits it returns nil.
func (l *Limits) Group(key string, need Need) (*Group, error) {
	if l.make == nil {
		return nil, nil
	}
	g, err := l.make(key, need)
	if err != nil {
		return nil, fmt.Errorf("cgroup of %s: %w", key, err)
	}
	return g, nil
}

const period = 100_000 // microseconds over which a quota counts, the kernel's default

func resources(need Need, devices bool) (*specs.LinuxResources, error) {
	r := &specs.LinuxResources{}
	if shares := uint64(need.Shares()); shares > 0 {
		r.CPU = &specs.LinuxCPU{Shares: &shares}
		if need.Quota {
			// The kernel takes no quota of less than a millisecond.
			quota, per := max(need.CPUs*(period/1000), 1000), uint64(period)
			r.CPU.Quota, r.CPU.Period = &quota, &per
		}
	}
	if need.Mem > 0 {
		r.Memory = &specs.LinuxMemory{Limit: &need.Mem, Swap: &need.Mem}
	}
	if need.Processes > 0 {
		r.Pids = &specs.LinuxPids{Limit: &need.Processes}
	}
	if devices {
		denied, err := need.Nodes.denied()
		if err != nil {
			return nil, err
		}
		r.Devices = rules(denied)
	}
	return r, nil
}

// legacy makes a group in the version 1 hierarchies.
func (l *Limits) legacy(key string, asked Need) (*Group, error) {
	need, err := resources(asked, l.devices)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(l.root, key)
	systems := []cgroup1.Subsystem{
		cgroup1.NewCpu(mountpoint),
		cgroup1.NewMemory(mountpoint, cgroup1.OptionalSwap()),
		cgroup1.NewPids(mountpoint),
	}
	if len(need.Devices) > 0 {
		systems = append(systems, cgroup1.NewDevices(mountpoint))
	}
	hierarchy := func() ([]cgroup1.Subsystem, error) { return systems, nil }
	if _, err := cgroup1.New(cgroup1.StaticPath(path), need, cgroup1.WithHierarchy(hierarchy)); err != nil {
		return nil, err
	}
	g := &Group{oom: firstOOM(path)}
	for _, system := range systems {
		g.folders = append(g.folders, filepath.Join(mountpoint, string(system.Name()), path))
	}
	return g, nil
}

// unified makes a version 2 group with its two leaves. One that is there goes
// first: each program that governs devices would stay, and all of them count.
func (l *Limits) unified(key string, asked Need) (*Group, error) {
	need, err := resources(asked, l.devices)
	if err != nil {
		return nil, err
	}
	if isThere(filepath.Join(mountpoint, l.root, key)) {
		if err := l.Find(key).Empty(); err != nil {
			return nil, err
		}
	}
	return makeUnified(mountpoint, filepath.Join(l.root, key), l.second(asked, need))
}

// second puts what a task may use into the words of version 2.
func (l *Limits) second(asked Need, need *specs.LinuxResources) *cgroup2.Resources {
	out := cgroup2.ToResources(need) // leaves the devices out
	out.Devices = need.Devices
	if out.CPU != nil {
		weight := asked.weight()
		out.CPU.Weight = &weight
	}
	if out.Memory != nil && !l.swap {
		out.Memory.Swap = nil
	}
	return out
}

func makeUnified(mount, path string, need *cgroup2.Resources) (*Group, error) {
	if _, err := cgroup2.NewManager(mount, path, need); err != nil {
		return nil, err
	}
	folder := filepath.Join(mount, path)
	g := &Group{folders: []string{folder}, leaf: filepath.Join(folder, "task"), oom: secondOOM(folder)}
	return g, makeLeaf(g.leaf)
}

func firstOOM(path string) string {
	return filepath.Join(mountpoint, "memory", path, "memory.oom_control")
}

func secondOOM(folder string) string { return filepath.Join(folder, "memory.events") }

func makeLeaf(folder string) error {
	if err := os.Mkdir(folder, 0o755); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// makeShims makes the version 2 group of all shims.
func (l *Limits) makeShims(mount string) error {
	l.shims = filepath.Join(mount, l.root, ".shims")
	return makeLeaf(l.shims)
}

// Find returns the group of a task that was made before, by an earlier run of
// the agent perhaps.
func (l *Limits) Find(key string) *Group {
	if l.make == nil {
		return nil
	}
	path := filepath.Join(l.root, key)
	if cgroups.Mode() == cgroups.Unified {
		folder := filepath.Join(mountpoint, path)
		return &Group{folders: []string{folder}, leaf: filepath.Join(folder, "task"), shim: filepath.Join(folder, "shim"), oom: secondOOM(folder)}
	}
	g := &Group{oom: firstOOM(path)}
	for _, name := range []string{"cpu", "memory", "devices", "pids"} {
		if folder := filepath.Join(mountpoint, name, path); name != "devices" || isThere(folder) {
			g.folders = append(g.folders, folder)
		}
	}
	return g
}

func isThere(folder string) bool {
	_, err := os.Stat(folder)
	return err == nil
}

// Keys returns the groups that are there.
func (l *Limits) Keys() []string {
	if l.make == nil {
		return nil
	}
	folder := filepath.Join(mountpoint, l.root)
	if cgroups.Mode() != cgroups.Unified {
		folder = filepath.Join(mountpoint, "pids", l.root)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // nothing was ever made
	}
	var keys []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			keys = append(keys, e.Name())
		}
	}
	return keys
}

// Close removes the root's folders where no task is left in them.
func (l *Limits) Close() {
	if l.make == nil {
		return
	}
	if l.shims != "" {
		_ = os.Remove(l.shims)
	}
	// A folder that is in use stays, and so do those above it.
	for _, folder := range l.Find("").folders {
		if os.Remove(folder) == nil {
			_ = os.Remove(filepath.Dir(folder))
		}
	}
}
