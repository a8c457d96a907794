package cli_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/docker/dockertest"
)

// TestCompose builds the image, starts the compose file's cluster from it, has
// it work, and starts it again under other addresses with what it had.
func TestCompose(t *testing.T) {
	compose := newCompose(t)
	compose("up", "--detach")
	in := func(args ...string) string {
		return compose(append([]string{"exec", "-T", "m1", "ringmaster"}, args...)...)
	}
	if got := in("run", "--count", "3", "--", "ringmaster", "version"); strings.Count(got, "] ringmaster ") != 3 {
		t.Errorf("three tasks said %q", got)
	}
	compose("down", "--timeout", "5") // the network goes, and every address with it
	compose("up", "--detach")
	in("run", "--", "ringmaster", "version")
	if got := in("masters"); strings.Count(got, "follower") != 2 {
		t.Errorf("masters:\n%s", got)
	}
	if got := in("tasks"); strings.Count(got, "finished") != 4 {
		t.Errorf("tasks of both lives:\n%s", got)
	}
	if got := in("agents", "-o", "wide"); strings.Count(got, "active") != 3 {
		t.Errorf("agents:\n%s", got)
	}
}

// newCompose builds the image and returns a function that runs docker-compose
// with a project of its own.
func newCompose(t *testing.T) func(args ...string) string {
	t.Helper()
	needShim(t)
	dockertest.Open(t)
	program, err := exec.LookPath("docker-compose")
	if err != nil {
		t.Skip("docker-compose is not here")
	}
	_, port, err := net.SplitHostPort(addresses(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("ringmaster-test-%d", os.Getpid())
	image(t, name)
	env := append(os.Environ(), "RINGMASTER_IMAGE="+name, "RINGMASTER_PORT="+port)
	compose := func(args ...string) string {
		t.Helper()
		c := exec.Command(program, append([]string{"--file", "../compose.yaml", "--project-name", name}, args...)...)
		c.Env = env
		var out, errOut strings.Builder
		c.Stdout, c.Stderr = &out, &errOut
		if err := c.Run(); err != nil {
			t.Fatalf("docker-compose %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errOut)
		}
		return out.String()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(compose("logs", "--no-color", "--tail", "50"))
		}
		compose("down", "--volumes", "--timeout", "1")
		run(t, exec.Command("docker", "rmi", name))
	})
	return compose
}

// image builds what the Dockerfile says from the present code.
func image(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	recipe, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), recipe, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(dir, "bin/ringmaster"), "./ringmaster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	run(t, build)
	run(t, exec.Command("docker", "build", "--quiet", "--tag", name, dir))
}

func run(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}
