package docker

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

// devices asks for the devices of a container. An engine that injects them
// itself is told their names; for others (those before Docker 25, and those
// that it is switched off in) their specifications are read here, and said in
// the words that every engine knows.
func (x *Executor) devices(ctx context.Context, names []string, b *createBody) error {
	if len(names) == 0 {
		return nil
	}
	injects, err := x.engine.injects(ctx)
	if err != nil {
		return fmt.Errorf("does the engine inject devices: %w", err)
	}
	if injects {
		b.HostConfig.DeviceRequests = []deviceRequest{{Driver: "cdi", DeviceIDs: names}}
		return nil
	}
	known, err := cdi.NewCache(cdi.WithAutoRefresh(false), cdi.WithSpecDirs(x.specs...))
	if err != nil {
		return fmt.Errorf("specifications of devices: %w", err)
	}
	shared := map[*cdi.Spec]bool{}
	for _, name := range names {
		device := known.GetDevice(name)
		if device == nil {
			return fmt.Errorf("no specification in %s tells what the device %q is to a container", strings.Join(x.specs, " or "), name)
		}
		if spec := device.GetSpec(); !shared[spec] { // what all of its devices need, once
			shared[spec] = true
			if err := edit(b, name, &spec.ContainerEdits); err != nil {
				return err
			}
		}
		if err := edit(b, name, &device.ContainerEdits); err != nil {
			return err
		}
	}
	return nil
}

// edit makes what a specification says of a device part of the container.
func edit(b *createBody, name string, e *specs.ContainerEdits) error {
	if len(e.Hooks) > 0 || len(e.NetDevices) > 0 || e.IntelRdt != nil {
		return fmt.Errorf("the device %q needs hooks, which only an engine can run that injects devices itself: set features.cdi in its daemon.json (Docker 25 or later)", name)
	}
	for _, n := range e.DeviceNodes {
		node := deviceNode{PathOnHost: n.HostPath, PathInContainer: n.Path, CgroupPermissions: n.Permissions}
		if node.PathOnHost == "" {
			node.PathOnHost = n.Path
		}
		if node.CgroupPermissions == "" {
			node.CgroupPermissions = "rwm"
		}
		if !slices.Contains(b.HostConfig.Devices, node) {
			b.HostConfig.Devices = append(b.HostConfig.Devices, node)
		}
	}
	for _, m := range e.Mounts {
		if m.Type != "" && m.Type != "bind" {
			return fmt.Errorf("the device %q needs a mount of the type %.60q, which only an engine can make that injects devices itself", name, m.Type)
		}
		one := mount{Type: "bind", Source: m.HostPath, Target: m.ContainerPath, ReadOnly: slices.Contains(m.Options, "ro")}
		if !slices.Contains(b.HostConfig.Mounts, one) {
			b.HostConfig.Mounts = append(b.HostConfig.Mounts, one)
		}
	}
	for _, id := range e.AdditionalGIDs {
		b.HostConfig.GroupAdd = append(b.HostConfig.GroupAdd, strconv.FormatUint(uint64(id), 10))
	}
	b.Env = overlay(b.Env, e.Env)
	return nil
}

// overlay returns the variables of both, those of over where both have one.
func overlay(vars, over []string) []string {
	last := map[string]string{}
	for _, v := range append(slices.Clone(vars), over...) {
		name, _, _ := strings.Cut(v, "=")
		last[name] = v
	}
	return slices.Sorted(maps.Values(last))
}

// injects reports whether the engine resolves the names of the Container Device
// Interface.
func (e *engine) injects(ctx context.Context) (bool, error) {
	var info struct{ CDISpecDirs []string }
	err := e.call(ctx, http.MethodGet, "/info", nil, nil, &info)
	return len(info.CDISpecDirs) > 0, err
}
