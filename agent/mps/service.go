package mps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is the control daemon, and what speaks to it.
const program = "nvidia-cuda-mps-control"

// patience is how long a daemon may take to start, answer or end.
const patience = 10 * time.Second

// ErrOtherUser says that a GPU is shared by tasks of another user.
var ErrOtherUser = errors.New("the GPU is shared by tasks of another user, and the driver lets in one at a time")

// Service keeps the daemons of one agent.
type Service struct {
	path string // of the program
	dir  string // holds a folder for each GPU

	mu      sync.Mutex
	daemons map[string]*daemon // by GPU; only grows
}

// daemon is the service of one GPU.
type daemon struct {
	mu      sync.Mutex      // held while it starts, answers or ends
	holders map[string]uint // the users of its tasks, by task
}

// Use is one task's part of one GPU.
type Use struct {
	Task   string
	User   uint   // the task's uid
	GPU    string // its UUID
	Memory int64  // bytes
	Share  int64  // thousandths of its compute; 0: not limited
}

// Available reports whether the driver has such a service.
func Available() bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Open returns the service that keeps its daemons below dir, with those of uses
// still there, and ends all others. It is nil where the driver has no such
// service; an error beside one that is there says what was left.
func Open(dir string, uses []Use) (*Service, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, nil
	}
	s := &Service{path: path, dir: dir, daemons: map[string]*daemon{}}
	kept := map[string]bool{}
	for _, u := range uses {
		s.of(u.GPU).holders[u.Task] = u.User
		kept[s.folder(u.GPU)] = true
	}
	entries, left := os.ReadDir(dir)
	if errors.Is(left, os.ErrNotExist) {
		left = nil
	}
	for _, e := range entries {
		if folder := filepath.Join(dir, e.Name()); !kept[folder] {
			left = errors.Join(left, s.end(folder))
		}
	}
	return s, left
}

func (s *Service) of(gpu string) *daemon {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.daemons[gpu]
	if d == nil {
		d = &daemon{holders: map[string]uint{}}
		s.daemons[gpu] = d
	}
	return d
}

// folder is short, since the daemon's sockets are in it.
func (s *Service) folder(gpu string) string {
	sum := sha256.Sum256([]byte(gpu))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:6]))
}

// Hold lets a task share a GPU, and starts its daemon if it does not run.
func (s *Service) Hold(ctx context.Context, u Use) error {
	d, folder := s.of(u.GPU), s.folder(u.GPU)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, user := range d.holders {
		if user != u.User {
			return ErrOtherUser
		}
	}
	if s.speak(ctx, folder, "get_server_list") != nil {
		if err := s.start(ctx, folder, u); err != nil {
			return fmt.Errorf("share GPU %s: %w", u.GPU, err)
		}
	}
	d.holders[u.Task] = u.User
	return nil
}

// Variables returns what a task sees that shares a GPU, none where it does not.
func (s *Service) Variables(u Use) map[string]string {
	d := s.of(u.GPU)
	d.mu.Lock()
	_, holds := d.holders[u.Task]
	d.mu.Unlock()
	if !holds {
		return nil
	}
	vars := variables(s.folder(u.GPU))
	// The daemon has one GPU, so that is the first.
	vars["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt.Sprintf("0=%dM", u.Memory>>20)
	if u.Share > 0 {
		vars["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = strconv.FormatInt(max(1, u.Share/10), 10)
	}
	return vars
}

func variables(folder string) map[string]string {
	return map[string]string{"CUDA_MPS_PIPE_DIRECTORY": filepath.Join(folder, "pipe"), "CUDA_MPS_LOG_DIRECTORY": filepath.Join(folder, "log")}
}

// Release takes back what a task holds, and ends the daemons that nobody needs
// any more. A task that holds nothing is no error.
func (s *Service) Release(task string) error {
	s.mu.Lock()
	all := make(map[string]*daemon, len(s.daemons))
	for gpu, d := range s.daemons {
		all[gpu] = d
	}
	s.mu.Unlock()
	var left error
	for gpu, d := range all {
		d.mu.Lock()
		if _, holds := d.holders[task]; holds {
			delete(d.holders, task)
			if len(d.holders) == 0 {
				left = errors.Join(left, s.end(s.folder(gpu)))
			}
		}
		d.mu.Unlock()
	}
	return left
}

// start starts the daemon of a GPU for the tasks of one user.
func (s *Service) start(ctx context.Context, folder string, u Use) error {
	for _, sub := range []string{"pipe", "log"} {
		path := filepath.Join(folder, sub)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.Chown(path, int(u.User), -1); err != nil {
			return err
		}
	}
	return s.run(ctx, folder, "", []string{"CUDA_VISIBLE_DEVICES=" + u.GPU}, "-d")
}

// end ends a daemon, if one runs, and removes its folder.
func (s *Service) end(folder string) error {
	ctx := context.Background()
	if s.speak(ctx, folder, "get_server_list") == nil {
		if err := s.speak(ctx, folder, "quit -t 1"); err != nil {
			return fmt.Errorf("end the sharing of a GPU: %w", err)
		}
	}
	return os.RemoveAll(folder)
}

// speak gives a daemon one command. The error says that none runs, or refuses.
func (s *Service) speak(ctx context.Context, folder, command string) error {
	return s.run(ctx, folder, command+"\n", nil)
}

func (s *Service) run(ctx context.Context, folder, in string, env []string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.path, arguments...)
	cmd.Stdin = strings.NewReader(in)
	cmd.WaitDelay = time.Second
	for name, value := range variables(folder) {
		env = append(env, name+"="+value)
	}
	cmd.Env = append(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	// A daemon that stays may hold our end of its output.
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		text := strings.TrimSpace(string(out))
		return fmt.Errorf("%s: %w: %.200s", program, err, text)
	}
	return nil
}
