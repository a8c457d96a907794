package docker

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// ErrImage says that there is no image to start; see Executor.Prepare.
var ErrImage = errors.New("the image can't be had")

// The labels of a task's container, for people and for Sweep.
const (
	OwnerLabel     = "ringmaster.owner" // which agent's folder it belongs to
	KeyLabel       = "ringmaster.key"   // the task, as framework:task
	AgentLabel     = "ringmaster.agent" // the agent's id in the cluster
	FrameworkLabel = "ringmaster.framework"
	TaskLabel      = "ringmaster.task"
	attemptLabel   = "ringmaster.attempt" // one for each time that a container is asked for
)

// Config is what an executor is made of.
type Config struct {
	Socket string        // of the engine; "" means DefaultSocket
	Owner  string        // tells this agent's containers from all others on the engine
	Most   int           // containers created or started at once; 0 means 8
	Look   time.Duration // how often a container that runs is looked at, beside waiting for it; 0 means 10 s
	Specs  []string      // folders with specifications of devices; none means /etc/cdi and /var/run/cdi
	Kernel string        // the kernel's log; "" means DefaultKernelLog
	Logger hclog.Logger
}

// Executor starts containers and takes them over. Safe for concurrent use.
type Executor struct {
	engine *engine
	owner  string
	specs  []string
	kernel string
	look   time.Duration
	turns  chan struct{} // one token for each container that is being created or started
	log    hclog.Logger

	mu    sync.Mutex
	left  map[leftover]time.Time // since when the engine answers that there is none; see Tidy
	talks map[string]bool        // commands that somebody talks to, by the engine's ids
}

// New returns an executor. Nothing is asked of the engine yet.
func New(c Config) *Executor {
	if c.Socket == "" {
		c.Socket = DefaultSocket
	}
	if c.Most <= 0 {
		c.Most = 8
	}
	if c.Look <= 0 {
		c.Look = 10 * time.Second
	}
	if len(c.Specs) == 0 {
		c.Specs = cdi.DefaultSpecDirs
	}
	if c.Kernel == "" {
		c.Kernel = DefaultKernelLog
	}
	return &Executor{specs: c.Specs, kernel: c.Kernel, look: c.Look, engine: newEngine(c.Socket), owner: c.Owner, turns: make(chan struct{}, c.Most), log: c.Logger, left: map[leftover]time.Time{}, talks: map[string]bool{}}
}

// Answers returns nil when an engine listens that can be spoken to.
func (x *Executor) Answers(ctx context.Context) error {
	_, err := x.engine.speak(ctx)
	return err
}

// Ping asks the engine whether it is there, whatever it has answered before.
func (x *Executor) Ping(ctx context.Context) error {
	return x.engine.call(ctx, http.MethodGet, "/_ping", nil, nil, nil)
}

// patience is how long a start waits for an engine that is away: long enough
// for one that is restarted or comes up beside the agent.
const patience = 30 * time.Second

// Prepare makes a container that is not started, from an image that it fetches
// first where the policy says so. ErrImage is of an image that is not there
// and can't be fetched; anything else is of the container.
func (x *Executor) Prepare(ctx context.Context, s Spec) (*Container, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, patience, ErrAway)
	defer cancel()
	if err := patiently(waiting, func() error { return x.Answers(waiting) }); err != nil {
		return nil, err
	}
	boot, err := record.BootID()
	if err != nil {
		return nil, err
	}
	body := s.body()
	if err := patiently(waiting, func() error { return x.devices(ctx, s.Devices, &body) }); err != nil {
		return nil, err
	}
	if err := x.fetchFirst(ctx, s); err != nil {
		return nil, err
	}
	var id string
	err = patiently(waiting, func() error { id, err = x.create(ctx, s.Key, body); return err })
	if s.mayFetch() && refused(err, http.StatusNotFound) && strings.Contains(strings.ToLower(err.Error()), "image") {
		if err := x.fetch(ctx, s); err != nil {
			return nil, err
		}
		id, err = x.create(ctx, s.Key, body)
	}
	if err != nil {
		return nil, explain(s, err)
	}
	c := x.container(s.Key, record.Identity{Container: id, Boot: boot}, s.Sandbox)
	if err := x.hand(ctx, c, s); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// explain makes a sentence of why there is no container.
func explain(s Spec, err error) error {
	if refused(err, http.StatusNotFound) && strings.Contains(strings.ToLower(err.Error()), "image") {
		return fmt.Errorf("%w: the host has no %q, and pull is %s", ErrImage, s.Image, s.Pull)
	}
	return fmt.Errorf("create the container: %w", err)
}

// create makes the container. One of the same name is of an earlier task that
// has ended, or of this one from a time before anything was written down: it
// is no task's any more. The engine may still be at making that one, for an
// agent that was killed: then its name is taken before it can be removed.
func (x *Executor) create(ctx context.Context, key string, body createBody) (id string, err error) {
	defer x.turn(ctx)()
	name, attempt := x.name(key), rand.Text()
	body.Labels[OwnerLabel], body.Labels[KeyLabel], body.Labels[attemptLabel] = x.owner, key, attempt
	defer func() {
		if errors.Is(err, ErrAway) || err != nil && ctx.Err() != nil {
			x.leave(leftover{"label", attemptLabel + "=" + attempt})
		}
	}()
	last := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		id, err := x.engine.create(ctx, name, body)
		if !refused(err, http.StatusConflict) || time.Now().After(last) {
			return id, err
		}
		if err := x.engine.remove(ctx, name, true); err != nil && !refused(err, http.StatusConflict) {
			return "", fmt.Errorf("remove the task's earlier container: %w", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// turn waits for a turn and returns what ends it: an engine that is asked for
// hundreds of containers at once serves all of them late.
func (x *Executor) turn(ctx context.Context) func() {
	select {
	case x.turns <- struct{}{}:
		return func() { <-x.turns }
	case <-ctx.Done():
		return func() {}
	}
}

func (x *Executor) fetchFirst(ctx context.Context, s Spec) error {
	if s.Pull != pullAlways {
		return nil
	}
	return x.fetch(ctx, s)
}

// fetch pulls an image, for as long as that takes.
func (x *Executor) fetch(ctx context.Context, s Spec) error {
	x.log.Info("an image is fetched", "task", s.Key, "image", s.Image)
	if s.Fetching != nil {
		s.Fetching()
	}
	begin := time.Now()
	err := x.engine.pull(ctx, s.Image, func(status string) { x.log.Debug("an image is fetched", "image", s.Image, "status", status) })
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: fetch %q: %w", ErrImage, s.Image, err)
	}
	if err == nil {
		x.log.Info("an image is here", "task", s.Key, "image", s.Image, "took", time.Since(begin).Round(time.Millisecond))
	}
	return err
}

// hand gives the sandbox to the user whom the image runs as, where the task
// names none.
func (x *Executor) hand(ctx context.Context, c *Container, s Spec) error {
	if s.User != "" || s.Hand == nil {
		return nil
	}
	d, err := x.engine.inspect(ctx, c.identity.Container)
	if err != nil {
		return fmt.Errorf("inspect the container: %w", err)
	}
	user, group, _ := strings.Cut(d.Config.User, ":")
	if user == "" || user == "root" || user == "0" {
		return nil
	}
	uid, gid, err := x.account(ctx, c.identity.Container, user)
	if err != nil {
		return fmt.Errorf("the image's user %.100q: %w", user, err)
	}
	if n, err := strconv.ParseUint(group, 10, 32); err == nil {
		gid = uint32(n)
	}
	return s.Hand(uid, gid)
}

// account finds the numbers of an image's user in its /etc/passwd.
func (x *Executor) account(ctx context.Context, id, user string) (uid, gid uint32, err error) {
	n, notNumber := strconv.ParseUint(user, 10, 32)
	file, err := x.engine.file(ctx, id, "/etc/passwd")
	if err != nil {
		if notNumber == nil && refused(err, http.StatusNotFound) {
			return uint32(n), 0, nil
		}
		return 0, 0, err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	if _, err := archive.Next(); err != nil {
		return 0, 0, fmt.Errorf("/etc/passwd: %w", err)
	}
	for lines := bufio.NewScanner(archive); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 4 || fields[0] != user && fields[2] != user {
			continue
		}
		u, err := strconv.ParseUint(fields[2], 10, 32)
		g, err2 := strconv.ParseUint(fields[3], 10, 32)
		return uint32(u), uint32(g), errors.Join(err, err2)
	}
	if notNumber == nil {
		return uint32(n), 0, nil
	}
	return 0, 0, errors.New("it is not in the image's /etc/passwd")
}

// name is the same for every container of a task, so that the engine itself
// refuses a second one.
func (x *Executor) name(key string) string {
	sum := sha256.Sum256([]byte(x.owner + "/" + key))
	task := key[strings.IndexByte(key, ':')+1:]
	return "ringmaster-" + strings.TrimLeft(task[:min(len(task), 60)], "._-") + "-" + hex.EncodeToString(sum[:8])
}

// Adopt takes over the container of that identity, whatever has become of it.
func (x *Executor) Adopt(key string, id record.Identity, sandbox string) *Container {
	return x.container(key, id, sandbox)
}

// Found is a container that Survey has found.
type Found struct {
	Key      string
	Identity record.Identity
	Labels   map[string]string
	Started  bool // it was started, and runs or has ended
	Runs     bool
}

// Survey returns this agent's containers.
func (x *Executor) Survey(ctx context.Context) ([]Found, error) {
	boot, err := record.BootID()
	if err != nil {
		return nil, err
	}
	all, err := x.engine.list(ctx, "label", OwnerLabel+"="+x.owner)
	if err != nil {
		return nil, wrongAnswer(err)
	}
	found := make([]Found, len(all))
	for i, s := range all {
		found[i] = Found{
			Key: s.Labels[KeyLabel], Labels: s.Labels, Identity: record.Identity{Container: s.ID, Boot: boot},
			Started: s.State != "created",
			Runs:    slices.Contains([]string{"running", "paused", "restarting"}, s.State),
		}
	}
	return found, nil
}

// Remove ends what runs in a container and takes it away, or leaves that to
// Tidy.
func (x *Executor) Remove(ctx context.Context, id record.Identity) error {
	err := x.engine.remove(ctx, id.Container, true)
	if err != nil {
		x.leave(leftover{"id", id.Container})
		return fmt.Errorf("remove the container %s: %w", id.Container, err)
	}
	return nil
}
