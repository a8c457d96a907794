package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// isolate puts the calling thread where the task is to be born, for good. The
// limits on resources are of the whole shim.
func isolate(spec *record.Spec, settle func(*record.Isolation) error) error {
	for _, file := range spec.Joined {
		if err := os.WriteFile(file, []byte{'0'}, 0); err != nil {
			return fmt.Errorf("join the cgroup: %w", err)
		}
	}
	i := &spec.Isolation
	if err := settle(i); err != nil {
		return err
	}
	for _, r := range i.Rlimits {
		if err := limit(r); err != nil {
			return fmt.Errorf("limit resource %d: %w", r.Resource, err)
		}
	}
	if !i.Privileges {
		return nil
	}
	return dropPrivileges(i.Keep)
}

// limit sets a limit, or as much of it as the agent itself may.
func limit(r record.Rlimit) error {
	var own unix.Rlimit
	if err := unix.Getrlimit(r.Resource, &own); err != nil {
		return err
	}
	hard := min(r.Hard, own.Max)
	return unix.Setrlimit(r.Resource, &unix.Rlimit{Cur: min(r.Soft, hard), Max: hard})
}

// settleIn makes a mount namespace, with the mounts that the host has now, and
// fits it out, together with the namespaces that the shim was born in: what is
// mounted later on the host is seen, nothing goes back there, and the files by
// which the host's kernel is changed can't be written, by root neither.
func settleIn(i *record.Isolation) error {
	if !i.Mount {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	const plain = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if i.PID {
		if err := unix.Mount("proc", "/proc", "proc", plain, ""); err != nil {
			return fmt.Errorf("mount /proc: %w", err)
		}
	}
	for _, path := range []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"} {
		err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, readOnly(path)); err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	var st unix.Statfs_t
	if unix.Statfs("/sys", &st) == nil && st.Type == unix.SYSFS_MAGIC {
		if err := readOnly("/sys"); err != nil {
			return fmt.Errorf("make /sys read-only: %w", err)
		}
	}
	if i.IPC {
		if err := unix.Mount("shm", "/dev/shm", "tmpfs", plain, "mode=1777"); err != nil {
			return fmt.Errorf("mount /dev/shm: %w", err)
		}
	}
	return nil
}

// readOnly makes a mount and all that are below it read-only.
func readOnly(path string) error {
	return unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// enter takes the calling thread into the namespaces of a shim, so that it
// starts what belongs beside that one's task.
func enter(shim record.Identity) error {
	var files []*os.File
	for _, name := range []string{"ipc", "pid", "mnt"} {
		own, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return err
		}
		path := fmt.Sprintf("/proc/%d/ns/%s", shim.PID, name)
		if there, err := os.Readlink(path); err != nil || there == own {
			if err != nil && os.Geteuid() == 0 {
				return err
			}
			continue // an agent that is not root has put it into none
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil
	}
	// Asked after they are open: they are those of this shim.
	if !shim.Alive() {
		return errors.New("the task's shim has ended")
	}
	// A mount namespace takes no thread that shares its folder with others.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	for _, f := range files {
		if err := unix.Setns(int(f.Fd()), 0); err != nil {
			return err
		}
	}
	return nil
}

// dropPrivileges takes from what the calling thread starts every capability
// but those in keep, for good: a program gains none by its file or its owner.
func dropPrivileges(keep uint64) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("gain no privileges: %w", err)
	}
	permitted, err := clearInheritable()
	if err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if missing := keep &^ permitted; missing != 0 {
		return fmt.Errorf("keep capabilities: the agent does not have all of them (%#x are missing)", missing)
	}
	for c := uintptr(0); c <= record.MaxCapability; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL):
			return nil // this kernel has no more
		case errors.Is(err, unix.EPERM) && permitted == 0:
			return nil // what has none can't gain one either
		case err != nil:
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}

// clearInheritable makes sure that nothing is handed on but by the ambient set,
// and returns the capabilities that the calling thread has.
func clearInheritable() (permitted uint64, err error) {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return 0, err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[0].Permitted) | uint64(data[1].Permitted)<<32, nil
}

// ambient lists the capabilities that the task keeps whoever it runs as.
func ambient(i *record.Isolation) []uintptr {
	var out []uintptr
	for c := uintptr(0); i.Privileges && c <= record.MaxCapability; c++ {
		if i.Keep&(1<<c) != 0 {
			out = append(out, c)
		}
	}
	return out
}

// try isolates itself as its gate says, and says what does not work.
func try() int {
	spec, ok := gate()
	if !ok {
		return 1
	}
	if err := isolate(&spec, settleIn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run starts a program as the specification says.
func run(spec *record.Spec, attr *syscall.ProcAttr, settle func(*record.Isolation) error) (pid int, err error) {
	if u := spec.User; u != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	attr.Sys.AmbientCaps = ambient(&spec.Isolation)
	if err = isolate(spec, settle); err == nil {
		pid, err = syscall.ForkExec(spec.Path, spec.Args, attr)
	}
	if err != nil {
		err = fmt.Errorf("start %s: %w", spec.Path, err)
	}
	if u := spec.User; u != nil && errors.Is(err, unix.EACCES) {
		if folder := closed(u, spec.Dir, spec.Path); folder != "" {
			err = fmt.Errorf("%w: the user %d may not pass the folder %s", err, u.UID, folder)
		}
	}
	return pid, err
}
