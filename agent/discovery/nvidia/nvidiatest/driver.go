// Package nvidiatest builds, for tests, the program that asks NVIDIA's driver,
// and a stand-in for the driver's library, so that all between a library call
// and a killed task is the real thing. It needs a C compiler.
package nvidiatest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/fakenvml.c
var source []byte

// Driver is a stand-in for the driver, which says what the test has it say.
type Driver struct {
	Helper string // path of the program that asks it
	t      testing.TB
	file   string
}

// New builds both and has the processes of this test find the stand-in. The
// test is skipped where no C compiler is.
func New(t testing.TB) *Driver {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler (gcc) is here to build a stand-in for NVIDIA's driver with")
	}
	dir := t.TempDir()
	d := &Driver{Helper: BuildHelper(t), t: t, file: filepath.Join(dir, "state")}
	code := filepath.Join(dir, "fakenvml.c")
	if err := os.WriteFile(code, source, 0o600); err != nil {
		t.Fatal(err)
	}
	build(t, compiler, "-shared", "-fPIC", "-O1", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), code)
	t.Setenv("LD_LIBRARY_PATH", dir)
	t.Setenv("FAKE_NVML", d.file)
	d.Say()
	return d
}

// BuildHelper builds the program that asks the driver and returns its path.
func BuildHelper(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler (gcc) is here to build the program that asks NVIDIA's driver")
	}
	path := filepath.Join(t.TempDir(), "helper")
	build(t, "go", "build", "-ldflags", "-extldflags=-Wl,-z,lazy", "-o", path, "github.com/ringmaster-project/ringmaster/agent/discovery/nvidia/helper")
	return path
}

func build(t testing.TB, arguments ...string) {
	t.Helper()
	cmd := exec.Command(arguments[0], arguments[1:]...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, out)
	}
}

// Say has the driver say that from now on, see testdata/fakenvml.c.
func (d *Driver) Say(lines ...string) {
	d.t.Helper()
	if err := os.WriteFile(d.file+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(d.file+".new", d.file); err != nil {
		d.t.Fatal(err)
	}
}
