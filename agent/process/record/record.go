package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The files of one task's folder.
const (
	StartedFile = "started.json" // a Started; there once the gate was open
	ExitFile    = "exit.json"    // an Exit; there once the task has ended
)

// The file descriptors that a shim finds open.
const (
	GateFD   = 3 // it reads the Spec, to the end, before anything starts
	AnswerFD = 4 // it writes the Started, then closes
)

// Spec is what a shim starts.
type Spec struct {
	Path   string   `json:"path"` // of the program, absolute
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Stdout string   `json:"stdout"` // existing files, appended to
	Stderr string   `json:"stderr"`
	User   *User    `json:"user,omitempty"`  // nil: the shim's own
	Group  string   `json:"group,omitempty"` // folder of a version 2 cgroup that the task is born in
	OOM    string   `json:"oom,omitempty"`   // file with a line "oom_kill N"
}

// User is whom a task runs as.
type User struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// Started says that the task's program runs, or why it does not. Before the
// shim starts it, it writes one that holds nothing but itself.
type Started struct {
	Shim  Identity `json:"shim"`
	Task  Identity `json:"task"`
	Error string   `json:"error,omitempty"`
}

// Exit is how a task ended. Exactly one of Never, Error, Signal and (with all
// of them empty) Code tells.
type Exit struct {
	Never  bool      `json:"-"`                // nothing of it has run; told by the absence of any record
	Error  string    `json:"error,omitempty"`  // the program could not be started
	Signal string    `json:"signal,omitempty"` // that ended it, "SIGKILL"
	Code   int       `json:"code"`
	OOM    bool      `json:"oom,omitempty"` // the kernel killed for memory in its cgroup
	Time   time.Time `json:"time"`
}

// Write puts v into dir under name, atomically, and (sync) onto the disk.
func Write(dir, name string, v any, sync bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temp := filepath.Join(dir, name+".new")
	if err := writeFile(temp, data, sync); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func writeFile(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Read reads what Write wrote. A file that is not there is os.ErrNotExist.
func Read(dir, name string, v any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", filepath.Join(dir, name), err)
	}
	return nil
}
