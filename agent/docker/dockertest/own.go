package dockertest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Own is a real engine of the test's own, which it may stop and kill. It has a
// network namespace of its own with nothing in it: an engine without networks
// deletes those that others have made.
type Own struct {
	*Real
	dir   string
	under *exec.Cmd // containerd, which goes on while the engine is down
	cmd   *exec.Cmd // nil while it is down
	said  *os.File
}

// Start starts an engine, or skips the test where there are no programs for
// one. With live its containers go on while it is down.
func Start(t testing.TB, live bool) *Own {
	t.Helper()
	for _, program := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s to start an engine with", program)
		}
	}
	dir, err := os.MkdirTemp("", "rm") // short: there are sockets in it
	if err != nil {
		t.Fatal(err)
	}
	o := &Own{dir: dir, Real: newReal(t, filepath.Join(dir, "socket"))}
	if o.said, err = os.Create(o.at("said")); err != nil {
		t.Fatal(err)
	}
	o.write("engine", `{"live-restore": `+strconv.FormatBool(live)+`}`)
	o.write("containerd", fmt.Sprintf("version = 2\nroot = %q\nstate = %q\n[grpc]\naddress = %q\n", o.at("root"), o.at("state"), o.at("under")))
	o.under = exec.Command("containerd", "--config", o.at("containerd"))
	o.under.Stdout, o.under.Stderr = o.said, o.said
	if err := o.under.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.clear)
	o.Up()
	return o
}

func (o *Own) at(name string) string { return filepath.Join(o.dir, name) }

func (o *Own) write(name, text string) {
	o.t.Helper()
	if err := os.WriteFile(o.at(name), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// Up starts the engine and waits until it answers.
func (o *Own) Up() {
	o.t.Helper()
	o.cmd = exec.Command("dockerd", "--config-file", o.at("engine"), "--containerd", o.at("under"),
		"--data-root", o.at("data"), "--exec-root", o.at("exec"), "--pidfile", o.at("pid"), "--host", "unix://"+o.Socket, "--storage-driver", "vfs",
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false")
	o.cmd.Stdout, o.cmd.Stderr = o.said, o.said
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); o.ping() != nil; {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(o.said.Name())
			o.t.Fatalf("the engine does not come up: %s", said)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Signal sends the engine a signal: SIGSTOP makes it hang, SIGCONT ends that.
func (o *Own) Signal(s syscall.Signal) {
	o.t.Helper()
	if err := o.cmd.Process.Signal(s); err != nil {
		o.t.Fatal(err)
	}
}

// Down ends the engine with a signal.
func (o *Own) Down(s syscall.Signal) {
	o.t.Helper()
	o.Signal(s)
	_ = o.cmd.Wait() // its signal is no success
	o.cmd = nil
}

// clear removes what is left in the engine, and ends it.
func (o *Own) clear() {
	if o.cmd == nil {
		o.Up() // what it left runs on
	}
	_ = o.cmd.Process.Signal(syscall.SIGCONT) // it may be gone
	if o.ping() == nil {
		var all []struct {
			ID string `json:"Id"`
		}
		o.Do(http.MethodGet, "/containers/json", url.Values{"all": {"true"}}, nil, &all)
		for _, c := range all {
			o.Do(http.MethodDelete, "/containers/"+c.ID, url.Values{"force": {"true"}}, nil, nil)
		}
	}
	for _, p := range []*exec.Cmd{o.cmd, o.under} {
		_ = p.Process.Signal(syscall.SIGTERM) // as above
		_ = p.Wait()
	}
	_ = unix.Unmount(o.at("data"), unix.MNT_DETACH) // an engine that was killed leaves it mounted
	if err := errors.Join(o.said.Close(), os.RemoveAll(o.dir)); err != nil {
		o.t.Error(err)
	}
}
