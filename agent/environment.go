package agent

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// account is whom a task runs as.
type account struct {
	name, home string
	user       *record.User // nil: the agent's own
}

// accountOf finds the account that the task names, or else its framework, or
// else the agent's own. Only root may run tasks as somebody else.
func accountOf(l tasks.Launch) (account, error) {
	name := l.Task.Command.User
	if name == "" {
		name = l.User
	}
	if name == "" {
		return ownAccount(), nil
	}
	return accountNamed(name)
}

func accountNamed(name string) (account, error) {
	found, err := user.Lookup(name)
	if err != nil {
		if found, err = user.LookupId(name); err != nil {
			return account{}, fmt.Errorf("command.user: this host knows no user %.100q", name)
		}
	}
	who := account{name: found.Username, home: found.HomeDir}
	if found.Uid == strconv.Itoa(os.Getuid()) {
		return who, nil
	}
	if os.Getuid() != 0 {
		return account{}, fmt.Errorf("command.user: the agent is not root and can't run a task as %.100q", name)
	}
	groups, err := found.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("command.user: groups of %.100q: %w", name, err)
	}
	ids, err := numbers(append([]string{found.Uid, found.Gid}, groups...))
	who.user = &record.User{UID: ids[0], GID: ids[1], Groups: ids[2:]}
	return who, err
}

// ownAccount is the agent's own, whether or not the host has a name for it.
func ownAccount() account {
	if own, err := user.Current(); err == nil {
		return account{name: own.Username, home: own.HomeDir}
	}
	return account{name: strconv.Itoa(os.Getuid()), home: "/"}
}

func numbers(texts []string) ([]uint32, error) {
	out := make([]uint32, len(texts))
	for i, text := range texts {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return out, fmt.Errorf("command.user: %q is no number of a user or group", text)
		}
		out[i] = uint32(n)
	}
	return out, nil
}

// hostEnvironment returns the variables of a task that is a process of the
// host.
func hostEnvironment(l tasks.Launch, agent offers.AgentID, who account, sandbox string) []string {
	return environment(l, agent, sandbox, map[string]string{"PATH": defaultPath, "HOME": who.home, "USER": who.name, "LANG": "C.UTF-8"})
}

// environment returns the task's variables. Its own stand above the defaults,
// what the agent has to say stands above both.
func environment(l tasks.Launch, agent offers.AgentID, sandbox string, defaults map[string]string) []string {
	vars := map[string]string{}
	maps.Copy(vars, defaults)
	if l.Task.Command != nil {
		maps.Copy(vars, l.Task.Command.Env)
	}
	vars["RINGMASTER_TASK_ID"] = string(l.Task.ID)
	vars["RINGMASTER_FRAMEWORK_ID"] = string(l.Framework)
	vars["RINGMASTER_AGENT_ID"] = string(agent)
	vars["RINGMASTER_SANDBOX"] = sandbox
	if t := l.Task.Traceparent; t != "" {
		vars["TRACEPARENT"] = string(t)
	}
	for _, held := range l.Holding.Devices {
		class, ids, visible := held.Class, make([]string, len(held.Grants)), make([]string, len(held.Grants))
		for i, g := range held.Grants {
			ids[i], visible[i] = g.ID, cudaName(g)
		}
		vars["RINGMASTER_DEVICES_"+strings.ToUpper(strings.ReplaceAll(class, "-", "_"))] = strings.Join(ids, ",")
		if class == gpuClass {
			vars["CUDA_VISIBLE_DEVICES"] = strings.Join(visible, ",")
			vars["NVIDIA_VISIBLE_DEVICES"] = vars["CUDA_VISIBLE_DEVICES"]
		}
	}
	for i, port := range l.Holding.Ports.Each() {
		vars["PORT"+strconv.Itoa(i)] = strconv.Itoa(int(port))
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// cudaName is what CUDA takes for a device: its unique id where the agent
// knows that, its number otherwise.
func cudaName(g offers.Grant) string {
	if strings.HasPrefix(g.ID, "GPU-") || strings.HasPrefix(g.ID, "MIG-") {
		return g.ID
	}
	return strconv.Itoa(g.Index)
}

// sandboxPath returns a path inside the sandbox; Create has refused others.
func sandboxPath(sandbox, path string) string { return filepath.Join(sandbox, path) }

// findProgram looks a program up as a shell would, with the task's own PATH
// and from the folder that it starts in.
func findProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		full := filepath.Join(folder, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", noProgram{fmt.Errorf("the program %.100q is not in the PATH %.300q", name, path)}
}

// noProgram is an error that is fs.ErrNotExist.
type noProgram struct{ error }

func (noProgram) Is(target error) bool { return target == fs.ErrNotExist }
