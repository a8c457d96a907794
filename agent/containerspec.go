package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

// specOf says what a task's container is made of, but for its sandbox, and who
// is to own that (nil: the agent, or the image's user).
func (x *containers) specOf(l tasks.Launch) (docker.Spec, *record.User, error) {
	c := l.Task.Container
	s := docker.Spec{
		Key: l.Ref().String(), Image: c.Image, Pull: c.Pull, Entrypoint: c.Entrypoint, Mounts: c.Mounts,
		Env:     environment(l, x.agent.ID(), offers.SandboxMount, nil),
		Network: c.Network, Ports: publish(l), Devices: x.devices(l), Need: x.agent.needOf(l),
		Labels: map[string]string{
			docker.AgentLabel: string(x.agent.ID()), docker.FrameworkLabel: string(l.Framework), docker.TaskLabel: string(l.Task.ID),
			runLabel: x.run, acceptedLabel: acceptedText(l), folderLabel: x.agent.config.DataDir,
		},
	}
	if s.Pull == "" {
		s.Pull = offers.PullMissing
	}
	if s.Network == "" {
		s.Network = offers.NetworkBridge
	}
	if command := l.Task.Command; command != nil {
		s.Args = command.Argv
		if command.Shell != "" {
			s.Entrypoint, s.Args = []string{"/bin/sh", "-c"}, []string{command.Shell}
		}
		if command.Dir != "" {
			s.Dir = sandboxPath(offers.SandboxMount, command.Dir)
		}
	}
	for _, m := range c.Mounts {
		if err := x.allowed(m.Source); err != nil {
			return s, nil, because{offers.ReasonBadTask, err}
		}
	}
	var owner *record.User
	var err error
	s.User, owner, err = containerUser(l)
	return s, owner, err
}

// publish says which port of the container is reached at which of the task's:
// the declared ones in their order, the others at the same number.
func publish(l tasks.Launch) map[offers.ContainerPort]uint16 {
	c := l.Task.Container
	if c.Network == offers.NetworkHost || c.Network == offers.NetworkNone {
		return nil
	}
	out := map[offers.ContainerPort]uint16{}
	for i, at := range l.Holding.Ports.Each() {
		if i < len(c.Ports) {
			out[c.Ports[i]] = at
		} else if _, taken := out[offers.ContainerPort{Port: at}]; !taken {
			out[offers.ContainerPort{Port: at}] = at
		}
	}
	return out
}

// devices returns the CDI names of what a task holds. Sources of devices tell
// them, or the id is one; of others the task learns by its environment.
func (x *containers) devices(l tasks.Launch) []string {
	var names []string
	for _, held := range l.Holding.Devices {
		for _, g := range held.Grants {
			name := cmp.Or(x.agent.device(held.Class, g).CDI, g.ID)
			if parser.IsQualifiedName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// allowed refuses to show a container what would give it power over other
// tasks: the agent's own folder and the engine's socket.
func (x *containers) allowed(source string) error {
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return fmt.Errorf("container.mounts: the host has no %.200q", source)
	}
	for _, guarded := range []string{x.agent.config.DataDir, x.agent.config.DockerSocket} {
		if g, err := filepath.EvalSymlinks(guarded); err == nil && (beneath(real, g) || beneath(g, real)) {
			return fmt.Errorf("container.mounts: %.200q shows the agent's own folder or the Docker engine's socket, which is refused", source)
		}
	}
	return nil
}

// beneath reports whether path is root or lies under it.
func beneath(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

var numericUser = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// containerUser returns as whom a container runs, "" for the image's user, and
// who owns its sandbox. A name means the host's account, as for processes: an
// image must not say who its "alice" is where the host has files of hers.
func containerUser(l tasks.Launch) (string, *record.User, error) {
	name := l.User
	if l.Task.Command != nil && l.Task.Command.User != "" {
		name = l.Task.Command.User
	}
	if name == "" {
		return "", nil, nil
	}
	if numericUser.MatchString(name) {
		ids, err := numbers(strings.Split(name, ":"))
		if err != nil {
			return "", nil, err
		}
		if os.Getuid() != 0 && ids[0] != uint32(os.Getuid()) {
			return "", nil, errors.New("command.user: the agent is not root and can't give a sandbox to " + name)
		}
		return name, &record.User{UID: ids[0], GID: ids[1]}, nil
	}
	who, err := accountNamed(name)
	if err != nil {
		return "", nil, fmt.Errorf("%w; a user whom only the image knows is written uid:gid", err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if who.user != nil {
		uid, gid = int(who.user.UID), int(who.user.GID)
	}
	return strconv.Itoa(uid) + ":" + strconv.Itoa(gid), who.user, nil
}
