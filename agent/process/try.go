package process

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// Try finds out whether this host lets a task be isolated so. The error says
// what does not work.
func Try(shim string, isolation record.Isolation) error {
	var said bytes.Buffer
	cmd := &exec.Cmd{
		Path: shim, Args: []string{shimName, record.Try, record.Version}, Env: []string{"GOMAXPROCS=1"}, Stderr: &said,
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: namespaces(isolation)},
	}
	if err := startGated(cmd, record.Spec{Isolation: isolation}); err != nil {
		if errors.Is(err, unix.EPERM) {
			return errors.New("the agent may not make namespaces; it takes root")
		}
		return err
	}
	if err := cmd.Wait(); err != nil {
		if text := bytes.TrimSpace(said.Bytes()); len(text) > 0 {
			return errors.New(string(text))
		}
		return fmt.Errorf("the shim: %w", err)
	}
	return nil
}

// namespaces are those that a shim is born in. It makes that of its mounts when
// its gate opens: until then mounts come and go.
func namespaces(i record.Isolation) uintptr {
	var flags uintptr
	if i.IPC {
		flags |= unix.CLONE_NEWIPC
	}
	if i.PID {
		flags |= unix.CLONE_NEWPID
	}
	return flags
}
