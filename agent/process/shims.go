package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// shimName is the shims' first argument, by which they are known among all
// processes; the second is the folder that holds those of their tasks.
const shimName = "ringmaster-shim"

// shims returns the shims of this user that run for a folder below dir, by its
// name; several where a folder was emptied while one ran. Those of no task yet
// are under "". They are found among the host's processes, so also where the
// folder, or the whole data folder, was removed while they ran.
func shims(dir string) map[string][]record.Identity {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	out := map[string][]record.Identity{}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		folder, ok := shimOf(pid)
		if !ok || folder != dir && filepath.Dir(folder) != dir {
			continue
		}
		// Asked for its folder again once it is identified, since the number
		// may have become another process's in between.
		id, err := record.Identify(pid)
		if again, ok := shimOf(pid); err == nil && ok && again == folder {
			name := strings.TrimPrefix(folder[len(dir):], "/")
			out[name] = append(out[name], id)
		}
	}
	return out
}

// shimOf returns the folder of the shim with that pid, if it is one of this
// user: where it works. A shim goes to its task's folder when its gate opens.
// What it forks has its arguments until it becomes the task's program, but leads
// no session.
func shimOf(pid int) (folder string, ok bool) {
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		return "", false
	}
	path := "/proc/" + strconv.Itoa(pid)
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || int(st.Uid) != os.Geteuid() {
		return "", false
	}
	raw, err := os.ReadFile(path + "/cmdline")
	if err != nil {
		return "", false
	}
	arguments := bytes.Split(bytes.TrimSuffix(raw, []byte{0}), []byte{0})
	if len(arguments) < 2 || string(arguments[0]) != shimName {
		return "", false
	}
	folder, err = os.Readlink(path + "/cwd")
	return strings.TrimSuffix(folder, " (deleted)"), err == nil
}
