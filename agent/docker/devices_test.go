package docker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/ringmaster-project/ringmaster/agent/docker"
	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
	"github.com/ringmaster-project/ringmaster/offers"
)

// described writes the specification of two devices of one kind and one of
// another, and returns its folder. The node is not among those that an engine
// gives to every container.
func described(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "library"), []byte("a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	known, err := cdi.NewCache(cdi.WithAutoRefresh(false), cdi.WithSpecDirs(dir))
	if err != nil {
		t.Fatal(err)
	}
	probe := &specs.Spec{Version: "0.7.0", Kind: "example.com/probe", ContainerEdits: specs.ContainerEdits{
		Env:    []string{"PROBES=some"},
		Mounts: []*specs.Mount{{HostPath: filepath.Join(dir, "library"), ContainerPath: "/lib/probe", Options: []string{"ro", "nosuid"}}},
	}}
	for n := range 2 {
		probe.Devices = append(probe.Devices, specs.Device{Name: fmt.Sprint(n), ContainerEdits: specs.ContainerEdits{
			Env: []string{fmt.Sprintf("PROBE%d=here", n)}, AdditionalGIDs: []uint32{4711},
			DeviceNodes: []*specs.DeviceNode{{Path: fmt.Sprintf("/dev/probe%d", n), HostPath: "/dev/fuse", Permissions: "r"}},
		}})
	}
	hooked := &specs.Spec{Version: "0.7.0", Kind: "example.com/hooked", Devices: []specs.Device{{Name: "0", ContainerEdits: specs.ContainerEdits{
		Hooks: []*specs.Hook{{HookName: "createContainer", Path: "/bin/true"}},
	}}}}
	for name, spec := range map[string]*specs.Spec{"probe.json": probe, "hooked.yaml": hooked} {
		if err := known.WriteSpec(spec, name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDevices: a container has the devices that it was given, with what their
// specification says, and no others.
func TestDevices(t *testing.T) {
	b := newBench(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("the host has no /dev/fuse to hand over")
	}
	owner := "test-" + filepath.Base(filepath.Dir(t.TempDir()))
	b.Executor = docker.New(docker.Config{Owner: owner, Specs: []string{described(t)}, Logger: hclog.NewNullLogger()})
	b.real.CleanUp(docker.OwnerLabel + "=" + owner)
	for _, row := range []struct {
		devices, steps []string
		code           int
	}{
		{[]string{"example.com/probe=0"}, []string{"open=/dev/probe0", "same=PROBE0=here", "same=PROBE1=", "same=PROBES=some", "same=OWN=value", "cat=/lib/probe"}, 0},
		{[]string{"example.com/probe=0", "example.com/probe=1"}, []string{"open=/dev/probe0", "open=/dev/probe1", "same=PROBE1=here"}, 0},
		{[]string{"example.com/probe=0"}, []string{"need=/dev/probe1"}, 99},
		{nil, []string{"need=/dev/probe0"}, 99},
	} {
		s := b.spec("f:t", row.steps...)
		s.Env, s.Devices = append(s.Env, "OWN=value", "PROBES=none"), row.devices
		c := b.prepare(s)
		c.Open()
		exit, err := c.Wait(func() {})
		if err != nil || exit.Code != row.code {
			t.Errorf("%q: %+v %v: %s", row.devices, exit, err, content(t, s.Sandbox, "stderr"))
		}
		if len(row.devices) == 1 && row.code == 0 && content(t, s.Sandbox, "stdout") != "a library" {
			t.Errorf("%q: it read %q", row.devices, content(t, s.Sandbox, "stdout"))
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestDevicesToEngines: an engine that injects devices is told their names, and
// others what they are; what can't be said in their words is refused.
func TestDevicesToEngines(t *testing.T) {
	dir := described(t)
	for _, c := range []struct {
		injects []string
		device  string
		want    []string // in what the engine is asked for
		fails   string
	}{
		{[]string{"/etc/cdi"}, "example.com/hooked=0", []string{`"DeviceRequests":[{"DeviceIDs":["example.com/hooked=0"],"Driver":"cdi"}]`}, ""},
		{nil, "example.com/probe=1", []string{
			`"Devices":[{"CgroupPermissions":"r","PathInContainer":"/dev/probe1","PathOnHost":"/dev/fuse"}]`, `"GroupAdd":["4711"]`,
			`{"ReadOnly":true,"Source":"` + dir + `/library","Target":"/lib/probe","Type":"bind"}`,
		}, ""},
		{nil, "example.com/hooked=0", nil, "set features.cdi"},
		{nil, "example.com/absent=0", nil, `tells what the device "example.com/absent=0" is`},
	} {
		f := dockertest.NewFake(t, "x")
		f.Set(func(s *dockertest.Settings) { s.Injects = c.injects })
		s := specOf(t, "x", offers.PullNever)
		s.Devices = []string{c.device}
		x := docker.New(docker.Config{Socket: f.Socket, Owner: "o", Specs: []string{dir}, Logger: hclog.NewNullLogger()})
		_, err := x.Prepare(t.Context(), s)
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%+v: %v", c, err)
		}
		for _, body := range f.Seen().Created {
			text, err := json.Marshal(body["HostConfig"])
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s is not in %s", want, text)
				}
			}
		}
	}
}
