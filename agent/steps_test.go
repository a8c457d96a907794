package agent_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// asTracer makes the test binary the tracer of an agent; it holds the step to
// kill it at, and asAgent what the agent is told.
const asTracer = "RINGMASTER_TEST_AS_TRACER"

// steps are the system calls by which an agent changes anything outside itself.
// It is killed before one of them is carried out.
var steps = []uint64{
	unix.SYS_MKDIRAT, unix.SYS_OPENAT, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FDATASYNC, unix.SYS_FSYNC, unix.SYS_UNLINKAT,
	unix.SYS_RENAMEAT, unix.SYS_PIPE2, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_PIDFD_OPEN, unix.SYS_WAITID, unix.SYS_SENDTO,
}

// runAsTracer runs an agent, follows its threads from the moment that a line
// comes in, and kills it before its n-th step from then on.
func runAsTracer(n int) error {
	runtime.LockOSThread() // who traces is a thread
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asTracer+"=")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if err := seize(cmd.Process.Pid); err != nil {
		return err
	}
	fmt.Println("armed")
	return follow(cmd.Process.Pid, n)
}

const seizeOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL

// seize takes all threads of a process; those that they start come along. The
// shims do not: they are no threads.
func seize(pid int) error {
	for seized := map[int]bool{}; ; {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return err
		}
		fresh := false
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil || seized[tid] {
				continue
			}
			seized[tid], fresh = true, true
			for _, request := range []uintptr{unix.PTRACE_SEIZE, unix.PTRACE_INTERRUPT} {
				// One that a seized thread has just started is seized already.
				if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, request, uintptr(tid), 0, seizeOptions, 0, 0); errno != 0 && errno != unix.EPERM && errno != unix.ESRCH {
					return errno
				}
			}
		}
		if !fresh {
			return nil
		}
	}
}

// follow lets the threads go on from stop to stop, and kills the process at its
// n-th step. It ends with the process.
func follow(pid, n int) error {
	killed := false
	for count := 0; ; {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || tid == pid && (status.Exited() || status.Signaled()) {
			if !killed {
				return errors.New("the agent has ended by itself")
			}
			return nil
		}
		if !status.Stopped() {
			continue
		}
		signal := 0
		switch stop := status.StopSignal(); {
		case stop == unix.SIGTRAP|0x80:
			if !killed && entersStep(tid) {
				if count++; count == n {
					killed = true
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		case stop != unix.SIGTRAP && status.TrapCause() <= 0 && int(status)>>16 == 0:
			signal = int(stop) // it is handed on
		}
		_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SYSCALL, uintptr(tid), 0, uintptr(signal), 0, 0)
	}
}

// entersStep reports whether a thread stands before one of the steps.
func entersStep(tid int) bool {
	const getSyscallInfo, entry = 0x420e, 1
	var info struct {
		op      uint8
		_       [3]uint8
		arch    uint32
		pointer [2]uint64
		number  uint64
		_       [8]uint64
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return errno == 0 && info.op == entry && slices.Contains(steps, info.number)
}

// TestKilledAtEveryStep kills agents -9 before each thing that they do on the
// way of a launch: whatever was done by then, the task runs exactly once, and
// nothing runs that the next agent does not know.
func TestKilledAtEveryStep(t *testing.T) {
	n, stride := 2, 4 // some of the steps are enough for every day
	if os.Getenv("RINGMASTER_TEST_STEPS") != "" {
		n, stride = 1, 1
	}
	for killedAtStep(t, n) {
		n += stride
	}
	if n < 50 { // of about 75
		t.Errorf("a launch has %d steps: they are not all counted", n)
	}
}

// killedAtStep reports whether the agent came as far as its n-th step.
func killedAtStep(t *testing.T, n int) (reached bool) {
	m, dir := newMaster(t), t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asTracer+"="+strconv.Itoa(n), asAgent+"="+dir+" "+m.address+" "+shim)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l, _ := m.welcome("a1", 1)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "armed\n" {
		_ = cmd.Wait()
		t.Skipf("this system lets no process be traced: %q %v", line, err)
	}
	task := shell("once", "echo started >> ../once-log; sleep 0.05; exit 7")
	task.Resources.Amounts = offers.Amounts{10, 64 << 20}
	l.launch(1, task)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if reached = !hears(l, ended); !reached {
		_ = cmd.Process.Kill() // and its agent with it
		<-ended
	}
	runsOnce(t, m, dir, task, n)
	return reached
}

// hears reports whether the agent tells of an end before its own.
func hears(l *link, ended chan error) bool {
	messages := l.messages
	for {
		select {
		case message, open := <-messages:
			if !open {
				messages = nil
			}
			if told, ok := message.(*wire.Statuses); ok && slices.ContainsFunc(told.Statuses, func(s wire.TaskStatus) bool { return s.State.Terminal() }) {
				return true
			}
		case err := <-ended:
			if err != nil {
				l.t.Errorf("the tracer: %v", err)
			}
			return false
		}
	}
}

// runsOnce brings the agent back and takes the task to its end.
func runsOnce(t *testing.T, m *master, dir string, task offers.Task, n int) {
	h := run(t, config(t, dir, m))
	l, register := m.welcome("a1", 2)
	if len(register.Tasks) == 0 {
		l.launch(2, task)
	}
	if s := l.end(task.ID); s.State != offers.Failed || s.ExitCode == nil || *s.ExitCode != 7 {
		t.Errorf("step %d: the task ended %+v", n, s)
	}
	if log := await(t, filepath.Join(dir, "sandboxes", "f1", "once-log")); log != "started" {
		t.Errorf("step %d: it was started %q", n, log)
	}
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, _ := os.ReadFile(line); strings.Contains(string(text), dir+"/run") {
			t.Errorf("step %d: a shim is left: %q", n, text)
		}
	}
}
