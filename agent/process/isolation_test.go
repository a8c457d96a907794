package process_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/limits"
	"github.com/ringmaster-project/ringmaster/agent/process"
	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// isolated is a bench whose tasks are isolated so, if this host does it.
func isolated(t *testing.T, i record.Isolation) bench {
	t.Helper()
	if err := process.Try(shim, i); err != nil {
		t.Skipf("this host does not isolate so (root is needed): %v", err)
	}
	return newIsolated(t, i)
}

// holds runs a script as a task and wants it to end with 0.
func (b bench) holds(t *testing.T, script string, need limits.Need, user *record.User) {
	t.Helper()
	p, err := b.Prepare("fw:task", need)
	if err != nil {
		t.Fatal(err)
	}
	spec := b.spec(t, script)
	if spec.User = user; user != nil {
		spec.Dir = "/"
	}
	if _, err := p.Release(spec); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || exit.Error != "" || exit.Signal != "" {
		said, _ := os.ReadFile(filepath.Join(b.dir, "stderr"))
		t.Errorf("%s\nended %+v %v\n%s", script, exit, err, said)
	}
}

const capNetBind, capNetRaw = 1 << unix.CAP_NET_BIND_SERVICE, 1 << unix.CAP_NET_RAW

// status is a script that wants a line of /proc/self/status.
func status(field, value string) string {
	return "grep -q '^" + field + ":[[:space:]]*" + value + "$' /proc/self/status || { grep '" + field + "' /proc/self/status >&2; exit 1; }"
}

// TestPrivileges: a task has no capabilities, can't get any, whoever it runs
// as, and has those that it is to keep.
func TestPrivileges(t *testing.T) {
	const none = "0000000000000000"
	b := isolated(t, record.Isolation{Privileges: true})
	b.holds(t, status("NoNewPrivs", "1"), limits.Need{}, nil)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		b.holds(t, status(set, none), limits.Need{}, nil)
	}
	if os.Getuid() != 0 {
		t.Skip("root is needed to drop what only root has")
	}
	b.holds(t, status("CapBnd", none), limits.Need{}, nil)
	b.holds(t, "! chown 1 stdout 2>/dev/null", limits.Need{}, nil)
	nobody := &record.User{UID: 65534, GID: 65534}
	b.holds(t, status("CapBnd", none)+"; "+status("CapEff", none), limits.Need{}, nobody)

	b = isolated(t, record.Isolation{Privileges: true, Keep: capNetBind | capNetRaw})
	const kept = "0000000000002400"
	for _, user := range []*record.User{nil, nobody} {
		b.holds(t, status("CapBnd", kept)+"; "+status("CapEff", kept)+"; "+status("NoNewPrivs", "1"), limits.Need{}, user)
	}
	if err := process.Try(shim, record.Isolation{Privileges: true, Keep: 1 << record.MaxCapability}); err == nil || !strings.Contains(err.Error(), "keep capabilities") {
		t.Errorf("a capability that nobody has is kept: %v", err)
	}
	newBench(t).holds(t, status("NoNewPrivs", "0")+"; ! "+strings.Split(status("CapBnd", none), " ||")[0], limits.Need{}, nil)
}

// TestRlimits: a task has the limits that it is given, as far as its agent may
// give them.
func TestRlimits(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	b := newIsolated(t, record.Isolation{Rlimits: []record.Rlimit{
		{Resource: unix.RLIMIT_NOFILE, Soft: 123, Hard: 234}, {Resource: unix.RLIMIT_CORE, Soft: 0, Hard: 0},
	}})
	b.holds(t, "[ $(ulimit -Sn) = 123 ] && [ $(ulimit -Hn) = 234 ] && [ $(ulimit -c) = 0 ]", limits.Need{}, nil)
	b = newIsolated(t, record.Isolation{Rlimits: []record.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: own.Max * 2, Hard: unix.RLIM_INFINITY}}})
	hard := strconv.FormatUint(own.Max, 10)
	b.holds(t, "[ $(ulimit -Sn) = "+hard+" ] && [ $(ulimit -Hn) = "+hard+" ]", limits.Need{}, nil)
}

func namespaceOf(t *testing.T, name string) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestNamespaces looks from inside a task at what it shares with its host.
func TestNamespaces(t *testing.T) {
	b := isolated(t, record.Isolation{Mount: true, Privileges: true})
	own := func(name, operator string) string {
		return "[ $(readlink /proc/self/ns/" + name + ") " + operator + " '" + namespaceOf(t, name) + "' ]"
	}
	b.holds(t, own("mnt", "!=")+" && "+own("ipc", "=")+" && "+own("pid", "="), limits.Need{}, nil)
	for _, file := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/mm/ksm/run", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"} {
		b.holds(t, "[ ! -e "+file+" ] || ! (: >> "+file+") 2>/dev/null", limits.Need{Processes: 100}, nil)
	}
	all := record.Isolation{Mount: true, IPC: true, PID: true, Privileges: true}
	b = isolated(t, all)
	b.holds(t, own("mnt", "!=")+" && "+own("ipc", "!=")+" && "+own("pid", "!="), limits.Need{}, nil)
	b.holds(t, "[ $PPID = 1 ] && [ $(ls -d /proc/[0-9]* | wc -l) -le 6 ]", limits.Need{}, nil)
	b.holds(t, "[ -z \"$(ls -A /dev/shm)\" ] && : > /dev/shm/ringmaster-test", limits.Need{}, nil)
	if _, err := os.Stat("/dev/shm/ringmaster-test"); err == nil {
		t.Error("what a task puts into its /dev/shm is on the host's")
	}
	if _, err := os.ReadDir("/proc/sys"); err != nil {
		t.Error(err)
	}
	for script, want := range map[string]string{"kill -KILL $$": "SIGKILL", "kill -TERM $$": "SIGTERM", "kill -9 -1; exit 3": "SIGKILL"} {
		if exit, err := b.start(t, script, limits.Need{}).Wait(); err != nil && exit.Signal != want {
			t.Errorf("%s ended %+v %v", script, exit, err)
		}
	}
}

// TestPidNamespace: such a task is told to end, is adopted, is asked how it is,
// and ends with its shim whatever it has started.
func TestPidNamespace(t *testing.T) {
	all := record.Isolation{Mount: true, IPC: true, PID: true, Privileges: true}
	b := isolated(t, all)
	p := b.start(t, "trap 'exit 9' TERM; echo ready > ready; while :; do sleep 0.02; done", limits.Need{})
	b.await(t, "ready")
	p.Terminate()
	if exit, err := p.Wait(); err != nil || exit.Code != 9 {
		t.Errorf("asked to end: %+v %v", exit, err)
	}

	b = isolated(t, all)
	p = b.start(t, "(setsid sleep 1000 &); echo ready > ready; while [ ! -e go ]; do sleep 0.01; done; exit 6", limits.Need{})
	b.await(t, "ready")
	id := p.Identity()
	p.Close()
	again := b.Adopt("fw:task", id)
	if again.Ended() {
		t.Fatal("a task in namespaces is not found again")
	}
	inside, err := os.Readlink("/proc/" + strconv.Itoa(id.PID) + "/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"[ $(readlink /proc/self/ns/pid) = '" + inside + "' ]": "", status("NoNewPrivs", "1"): "", "exit 3": "the command ended with exit code 3",
		"kill -9 $$": "the command ended with signal: killed", "[ $(ls -d /proc/[0-9]* | wc -l) -lt 10 ]": "",
	} {
		if err := again.Beside(t.Context(), b.spec(t, script)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := again.Wait(); err != nil || exit.Code != 6 {
		t.Errorf("adopted: %+v %v", exit, err)
	}
	emptied(t, inside)

	b = isolated(t, all)
	p = b.start(t, "(setsid sleep 1000 &); echo ready > ready; sleep 1000", limits.Need{})
	b.await(t, "ready")
	if inside, err = os.Readlink("/proc/" + strconv.Itoa(p.Identity().PID) + "/ns/pid"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.Identity().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err == nil {
		t.Error("a shim that was killed is not missed")
	}
	emptied(t, inside)
}

// emptied waits until no process is left in a pid namespace.
func emptied(t *testing.T, namespace string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		left := ""
		links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
		for _, link := range links {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			id, err := record.Identify(pid)
			if there, _ := os.Readlink(link); err == nil && id.Alive() && there == namespace {
				left = link
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s outlives its shim", left)
		}
	}
}

// TestDeviceNodes: of the nodes that are governed a task opens those that it
// may, and all others as ever.
func TestDeviceNodes(t *testing.T) {
	l := limits.Open("ringmaster-test/probe", hclog.NewNullLogger())
	l.Close()
	if !l.Devices() {
		t.Skip("this host lets the tests govern no device nodes (root is needed)")
	}
	governed := []string{"/dev/full", "/dev/zero", "/dev/ringmaster-absent"}
	for _, c := range []struct {
		allowed []string
		script  string
	}{
		{nil, "! (: < /dev/full) 2>/dev/null && ! (: < /dev/zero) 2>/dev/null && : < /dev/null && : < /dev/urandom"},
		{[]string{"/dev/full"}, ": < /dev/full && ! (: < /dev/zero) 2>/dev/null"},
		{governed, ": < /dev/full && : < /dev/zero"},
	} {
		newBench(t).holds(t, c.script, limits.Need{Nodes: limits.Nodes{Governed: governed, Allowed: c.allowed}}, nil)
	}
	if _, err := newBench(t).Prepare("fw:task", limits.Need{Nodes: limits.Nodes{Governed: []string{"/etc/passwd"}}}); err == nil || !strings.Contains(err.Error(), "/etc/passwd is no device node") {
		t.Errorf("a file that is no device: %v", err)
	}
}

// TestBornInsideItsLimits: a task can't be caught outside its cgroups: what it
// sees of itself first is its own group in each hierarchy.
func TestBornInsideItsLimits(t *testing.T) {
	l := limits.Open("ringmaster-test/probe", hclog.NewNullLogger())
	l.Close()
	if !l.Active() {
		t.Skip("this host lets the tests make no cgroups (root is needed)")
	}
	b := newBench(t)
	b.holds(t, "cat /proc/self/cgroup > now; echo >> now", limits.Need{CPUs: 100, Mem: 64 << 20, Processes: 20, Nodes: limits.Nodes{Governed: []string{"/dev/full"}}}, nil)
	groups := b.await(t, "now")
	for _, controller := range []string{"cpu", "memory", "pids", "devices"} {
		if unified := strings.HasPrefix(groups, "0::") && strings.Contains(groups, "fw:task/task"); unified {
			break
		}
		if !strings.Contains(groups, ":"+controller+":/ringmaster-test/") {
			t.Errorf("it is in no %s group:\n%s", controller, groups)
		}
	}
}
