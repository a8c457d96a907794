// Package disktest makes a write or a sync of the calling process fail, as a
// full or a broken disk does. Tests run a daemon in a child of theirs and call
// [Fail] there: what fails is the system call itself, so nothing of the daemon
// or of bbolt is replaced.
package disktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNotHere says that this system lets no process watch its own calls.
var ErrNotHere = errors.New("system calls can't be made to fail here")

// The kinds of calls: what bbolt changes its file with.
const (
	Write = "write" // pwrite, which fails with ENOSPC
	Sync  = "sync"  // fdatasync, which fails with EIO
)

// Fail makes the n-th call of that kind and all that follow fail, for files
// whose name begins with prefix, and leaves the file marker when the first does.
// It lasts as long as the process; children must make no such calls. The error
// is ErrNotHere.
func Fail(kind string, n int, prefix, marker string) error {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	number, errno := uint32(unix.SYS_PWRITE64), unix.ENOSPC
	if kind == Sync {
		number, errno = unix.SYS_FDATASYNC, unix.EIO
	}
	if arch == 0 {
		return ErrNotHere
	}
	listener, err := listen(arch, number)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	go answer(listener, n, prefix, marker, errno)
	return nil
}

// FailAs is Fail with what a test passes to its child: "kind:n:marker".
func FailAs(text, prefix string) error {
	kind, rest, _ := strings.Cut(text, ":")
	n, marker, _ := strings.Cut(rest, ":")
	count, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	return Fail(kind, count, prefix, marker)
}

const (
	getSetFilter   = 1
	flagSync       = 1 << 0
	flagListener   = 1 << 3
	flagSyncESRCH  = 1 << 4
	returnAllow    = 0x7fff0000
	returnNotify   = 0x7fc00000
	receive        = 0xc0502100
	send           = 0xc0182101
	continueFlag   = 1
	offsetOfNumber = 0
	offsetOfArch   = 4
)

// listen installs a filter for one system call and returns the descriptor from
// which its calls are read.
func listen(arch, number uint32) (int, error) {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetOfArch},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetOfNumber},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: returnNotify},
		{Code: unix.BPF_RET | unix.BPF_K, K: returnAllow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Without it only root may filter. It goes to the other threads as well.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, getSetFilter, flagSync|flagListener|flagSyncESRCH, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// notification is the kernel's struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	arguments  [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// answer lets calls go on until it is time.
func answer(listener, n int, prefix, marker string, errno unix.Errno) {
	for seen := 0; ; {
		var call notification
		if _, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), receive, uintptr(unsafe.Pointer(&call))); err != 0 {
			if err == unix.EINTR || err == unix.ENOENT {
				continue
			}
			return
		}
		reply := response{id: call.id, flags: continueFlag}
		path, _ := os.Readlink("/proc/self/fd/" + strconv.FormatUint(call.arguments[0], 10)) // "" is nobody's
		if strings.HasPrefix(filepath.Base(path), prefix) {
			if seen++; seen >= n {
				reply.flags, reply.err = 0, -int32(errno)
				_ = os.WriteFile(marker, nil, 0o600) // who looks for it finds none
			}
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), send, uintptr(unsafe.Pointer(&reply))) // the caller may be gone
	}
}
