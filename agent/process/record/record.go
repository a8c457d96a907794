package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Version is what an agent and its shim must have in common, the last argument
// of a shim: one of another build might do its part of the isolation to the host.
const Version = "3"

// The files of one task's folder.
const (
	StartedFile = "started" // a Started; there once the gate was open
	ExitFile    = "exit"    // an Exit; there once the task has ended
)

// NoRoom is the exit status of a shim that started nothing, because it could
// not have written down how that ends.
const NoRoom = 28

// Beside is what the shim's program is given in place of a folder when it is to
// start a program that runs beside a task, whose Shim its gate names. It ends as
// the program does, or with NotStarted if that can't be started. Given Try it
// isolates itself as its gate says and ends: with 0 where that works, or with
// what does not on its standard error.
//
// Given Exec it starts a program beside a task for somebody who talks to it: with
// the files that it was given itself, as the first of a session. It answers with
// a Started and an Exit. Its gate stays open meanwhile: when that is closed,
// whoever talked is gone, and the session is killed.
const (
	Beside     = "--beside"
	Exec       = "--exec"
	Try        = "--try"
	NotStarted = 126
)

// TimerSlack is by how many nanoseconds the sleeps of a task may be late, the
// kernel's default. Those of its shim may be later.
const TimerSlack = 50_000

// The file descriptors that a shim finds open.
const (
	GateFD   = 3 // it reads the Spec, to the end, before anything starts
	AnswerFD = 4 // it writes the Started, then closes
)

// Spec is what a shim starts.
type Spec struct {
	Folder string   `json:"folder,omitempty"` // of the task, where its records go
	Path   string   `json:"path"`             // of the program, absolute
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Stdout string   `json:"stdout"` // existing files, appended to
	Stderr string   `json:"stderr"`
	User   *User    `json:"user,omitempty"`  // nil: the shim's own
	Group  string   `json:"group,omitempty"` // folder of a version 2 cgroup that the task is born in
	Joined []string `json:"joined"`          // files that the task's parent writes 0 to, to be in version 1 cgroups
	OOM    string   `json:"oom,omitempty"`   // file with a line "oom_kill N"

	Terminal bool `json:"terminal,omitempty"` // with Exec: what it was given is a terminal, and becomes the session's

	Shim      Identity  `json:"shim"` // who the shim is; in a namespace of its own it can't tell
	Isolation Isolation `json:"isolation"`
}

// User is whom a task runs as.
type User struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// Size is that of a terminal, in characters.
type Size struct{ Rows, Columns uint16 }

// Started says that the task's program runs, or why it does not. Before the
// shim starts it, it writes one that holds nothing but itself.
type Started struct {
	Shim  Identity `json:"shim"`
	Task  Identity `json:"task"`
	Error string   `json:"error,omitempty"`
	None  bool     `json:"none,omitempty"` // with Error: there is no such program
}

// Exit is how a task ended. Exactly one of Never, Error, Signal and (with all
// of them empty) Code tells.
type Exit struct {
	Shim   Identity  `json:"shim"`             // who tells it
	Never  bool      `json:"-"`                // nothing of it has run; told by the absence of any record
	Error  string    `json:"error,omitempty"`  // the program could not be started
	Signal string    `json:"signal,omitempty"` // that ended it, "SIGKILL"
	Code   int       `json:"code"`
	OOM    bool      `json:"oom,omitempty"` // the kernel killed for memory in its cgroup
	Time   time.Time `json:"time"`
}

// OOMKilled reads from a cgroup's file whether the kernel has killed for memory
// in it.
func OOMKilled(path string) bool {
	if path == "" {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		if count, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
			return string(count) != "0"
		}
	}
	return false
}

// A record's file holds a checksum over the name of its folder, its own name
// and the JSON, as eight hexadecimal digits and a space, and then the JSON. So
// a flipped bit shows, and so does a record of another task.
const sealed = 8 + 1

// room is what Reserve allocates: more than any record takes, unless a path in
// an error is very long.
const room = 4096

// ErrDamaged says that a record is not what was written.
var ErrDamaged = errors.New("the record is damaged")

// Reserve takes the room for a record of that name, so that it can be written
// on a disk that has become full.
func Reserve(dir, name string) error {
	f, err := os.OpenFile(temporary(dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, room))
	return errors.Join(err, f.Close())
}

// Write puts v into dir under name, atomically, and (sync) onto the disk. It
// uses the room that was reserved.
func Write(dir, name string, v any, sync bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temp := temporary(dir, name)
	if err := writeFile(temp, append(seal(dir, name, data), data...), sync); err != nil {
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

func temporary(dir, name string) string { return filepath.Join(dir, name+".new") }

func seal(dir, name string, data []byte) []byte {
	sum := checksum(0, []byte(filepath.Base(dir)+"/"+name+"/"))
	return fmt.Appendf(nil, "%08x ", checksum(sum, data))
}

// writeFile writes over what is there before it cuts the rest off.
func writeFile(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Read reads what Write wrote. A file that is not there is os.ErrNotExist, one
// that holds something else ErrDamaged.
func Read(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(data) < sealed || !bytes.Equal(data[:sealed], seal(dir, name, data[sealed:])) {
		return fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	if err := json.Unmarshal(data[sealed:], v); err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return nil
}
