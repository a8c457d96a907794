package replica

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// small gives a master a disk of 8 MiB of its own.
func small(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system can't be mounted (root is needed): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill leaves no room on the disk of dir.
func fill(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return ballast
}

// TestFullDiskEndsTheMaster: whoever can't write ends with one sentence, be it
// the leader or not; the others go on, and it catches up once there is room.
func TestFullDiskEndsTheMaster(t *testing.T) {
	for _, who := range []string{"leader", "follower"} {
		t.Run(who, func(t *testing.T) {
			rs := three(t, func(c *Config) { small(t, c.DataDir) })
			leader := leaderOf(t, rs...)
			hit := leader
			if who == "follower" {
				hit = without(rs, leader)[0]
			}
			ballast := fill(t, hit.config.DataDir)
			others := without(rs, hit)
			weight := 1.0
			eventually(t, "the full disk is noticed", func() bool {
				weight++
				for _, r := range rs {
					if r.IsLeader() {
						_, _ = r.Apply(0, []state.Command{setRole("before", weight)}).Wait() // who leads may be the one that can't
					}
				}
				select {
				case <-hit.Failed():
					return true
				default:
					return false
				}
			})
			if text := hit.Failure().Error(); !strings.Contains(text, "no space left") || strings.Contains(text, "\n") {
				t.Errorf("the sentence is %q", text)
			}
			if err := hit.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			apply(t, leaderOf(t, others...), setRole("after", 7))
			weigh(t, "after", 7, others...)
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			back := start(t, hit.config)
			weigh(t, "after", 7, append(others, back)...)
		})
	}
}

// TestFirstFailedWriteIsTheLast: nobody knows what is on a disk after a write
// that failed, so nothing is promised on it any more, even if it would take it.
func TestFirstFailedWriteIsTheLast(t *testing.T) {
	for what, write := range map[string]func(*disk) error{
		"entries":  func(d *disk) error { return d.StoreLogs([]*raft.Log{{Index: 1}}) },
		"an entry": func(d *disk) error { return d.StoreLog(&raft.Log{Index: 1}) },
		"a cut":    func(d *disk) error { return d.DeleteRange(1, 2) },
		"a vote":   func(d *disk) error { return d.Set([]byte("LastVoteCand"), []byte("m1")) },
		"a number": func(d *disk) error { return d.SetUint64([]byte("LastVoteTerm"), 3) },
	} {
		path := filepath.Join(t.TempDir(), "raft.db")
		open := func() *store {
			s, err := openStore(path, "m1", about{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		d := newDisk(open(), path)
		if err := write(d); err != nil {
			t.Fatalf("%s on a good disk: %v", what, err)
		}
		if err := d.Close(); err != nil { // every write fails from now on
			t.Fatal(err)
		}
		if err := write(d); err == nil {
			t.Errorf("%s: a failed write is said to be done", what)
		}
		d.store = open()
		if err := write(d); err == nil {
			t.Errorf("%s: it is written after a write that failed", what)
		}
		select {
		case <-d.failed:
		default:
			t.Errorf("%s: nobody is told", what)
		}
		if d.failure() == nil {
			t.Errorf("%s: nothing is told", what)
		}
		_ = d.write(func() error { // refused, and not tried
			t.Errorf("%s: the disk is asked again", what)
			return nil
		})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWholeLogIsDeleted: a snapshot that is installed ends all of the log
// before it, over however many pages of the file that goes.
func TestWholeLogIsDeleted(t *testing.T) {
	s, err := openStore(filepath.Join(t.TempDir(), "raft.db"), "m1", about{})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*raft.Log, 2000)
	for i := range list {
		list[i] = &raft.Log{Index: uint64(i + 1), Data: make([]byte, 200)}
	}
	if err := s.StoreLogs(list); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- s.DeleteRange(1, 2000) }()
	select {
	case err := <-deleted:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if err := s.StoreLogs([]*raft.Log{{Index: 2001}}); err != nil {
		t.Fatal(err)
	}
	if first, last := s.about.first, s.about.last; first != 2001 || last != 2001 {
		t.Errorf("the log goes from %d to %d", first, last)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
