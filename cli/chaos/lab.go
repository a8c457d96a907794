package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// config says what is run.
type config struct {
	program program
	time    time.Duration // of the faults
	seed    uint64
	agents  int
	settle  time.Duration // how long everything may take to come to rest
	pause   time.Duration // between two faults, at most
	kinds   []string      // of faults; empty means all
	folder  string        // for everything that is written; must be there
	out     io.Writer
}

// agentTimeout is the cluster's; faults that go beyond it wait for longer.
const agentTimeout = 4 * time.Second

// lab is one cluster with all that watches it and breaks it.
type lab struct {
	config
	book     *recorder
	mesh     *mesh
	work     *work
	ear      *ear
	operator *operator
	watch    *watch
	masters  []*daemon
	agents   []*daemon
	authors  []*author
	keepers  []string      // names
	quiet    chan struct{} // closed: launch nothing more
	disks    []string      // mounted
	logs     []*os.File    // of the frameworks
	running  sync.WaitGroup

	speaking sync.Mutex // one line at a time

	mu        sync.Mutex
	busy      map[*daemon]bool // a fault has it
	failovers []failover
	findings  []finding
	counts    map[string]*count
	started   time.Time
}

// failover is one kill -9 of a leader.
type failover struct {
	at  time.Time
	old uint64 // its term
}

func newLab(c config) (*lab, error) {
	l := &lab{config: c, quiet: make(chan struct{}), busy: map[*daemon]bool{}, counts: map[string]*count{}, started: time.Now()}
	l.work = &work{folder: filepath.Join(c.folder, "tasks")}
	if err := os.MkdirAll(l.work.folder, 0o777); err != nil {
		return nil, err
	}
	l.ear = newEar(l.work, c.seed)
	book, err := newRecorder(filepath.Join(c.folder, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	l.book = book
	l.mesh = newMesh(l.masterOf)
	return l, nil
}

// say prints one line with its time.
func (l *lab) say(format string, args ...any) {
	l.speaking.Lock()
	defer l.speaking.Unlock()
	fmt.Fprintf(l.out, "%s %s\n", time.Now().UTC().Format(clock), fmt.Sprintf(format, args...))
}

func (l *lab) find(check, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.findings = append(l.findings, finding{check, text, ""})
}

// masterOf returns the master that a local port belongs to.
func (l *lab) masterOf(port int) string {
	byPID := map[int]string{}
	var pids []int
	l.mu.Lock()
	masters := l.masters
	l.mu.Unlock()
	for _, m := range masters {
		if pid := m.pid(); pid != 0 {
			byPID[pid] = m.name
			pids = append(pids, pid)
		}
	}
	return byPID[portOwner(port, pids)]
}

// names returns those of daemons.
func names(ds []*daemon) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.name)
	}
	return out
}

// freePort returns a port outside of the range from which the kernel takes
// those of connections, so that nobody has it when its owner restarts.
func freePort(r *rand.Rand) (string, error) {
	for range 1000 {
		at := fmt.Sprintf("127.0.0.1:%d", 15000+r.IntN(15000))
		if probe, err := net.Listen("tcp", at); err == nil {
			return at, probe.Close()
		}
	}
	return "", errors.New("no free port from 15000 to 30000")
}

// raise starts the cluster and waits until every agent has registered.
func (l *lab) raise(ctx context.Context) error {
	if err := l.planMasters(); err != nil {
		return err
	}
	if err := l.planAgents(); err != nil {
		return err
	}
	l.mountDisks()
	for _, d := range slices.Concat(l.masters, l.agents) {
		if err := d.start(); err != nil {
			return err
		}
	}
	for _, d := range slices.Concat(l.masters, l.agents) {
		if err := d.awaitReady(time.Minute); err != nil {
			return err
		}
	}
	_, _, err := l.operator.leader(ctx)
	return err
}

// planMasters says how the masters are started. They reach each other through
// the mesh only, since that is where they say they are.
func (l *lab) planMasters() error {
	// Ports are no part of the story that the seed tells.
	ports := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	var doors, join []string
	var masters []*daemon
	for i := range 3 {
		name := fmt.Sprintf("m%d", i+1)
		http, err := freePort(ports)
		if err != nil {
			return err
		}
		raft, err := freePort(ports)
		if err != nil {
			return err
		}
		edge, err := l.mesh.open("", name, raft, false)
		if err != nil {
			return err
		}
		doors, join = append(doors, http), append(join, edge)
		masters = append(masters, l.daemon(name, "master", "--http", http, "--raft", raft, "--advertise-raft", edge,
			"--bootstrap-expect", "3", "--agent-timeout", agentTimeout.String(), "--agent-removal-rate", "1/500ms", "--offer-timeout", "8s"))
	}
	for _, m := range masters {
		m.args = append(m.args, "--join", strings.Join(join, ","))
	}
	l.mu.Lock()
	l.masters = masters // the edges' goroutines are there already
	l.mu.Unlock()
	l.operator = newOperator(doors)
	l.watch = newWatch(l.operator, l.work)
	return nil
}

func (l *lab) planAgents() error {
	for i := range l.config.agents {
		name := fmt.Sprintf("a%d", i+1)
		edges, err := l.edges(name)
		if err != nil {
			return err
		}
		l.agents = append(l.agents, l.daemon(name, "agent", "--masters", strings.Join(edges, ","), "--http", "127.0.0.1:0",
			"--resources", "cpus=3.2,mem=2GiB,disk=10GiB,bandwidth=0,gpu=2x8GiB"))
	}
	return nil
}

// edges opens a way from a client to every master.
func (l *lab) edges(from string) ([]string, error) {
	var out []string
	for _, m := range l.masters {
		http := m.args[slices.Index(m.args, "--http")+1]
		at, err := l.mesh.open(from, m.name, http, true)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

func (l *lab) daemon(name, kind string, args ...string) *daemon {
	folder := filepath.Join(l.folder, name)
	return &daemon{
		name: name, kind: kind, program: l.program, folder: folder, log: filepath.Join(l.folder, name+".log"),
		args: append([]string{kind, "--name", name, "--data-dir", folder}, args...),
	}
}

// diskSize is what the agent and the master with disks of their own have.
const diskSize = 192 << 20

// mountDisks gives the last agent and the last master small disks of their
// own, where that is allowed.
func (l *lab) mountDisks() {
	for _, d := range []*daemon{l.masters[2], l.agents[len(l.agents)-1]} {
		if os.MkdirAll(d.folder, 0o755) != nil {
			continue
		}
		if err := syscall.Mount("chaos", d.folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", diskSize)); err != nil {
			l.say("%s gets no disk of its own (%v): full-disk-%s will be skipped", d.name, err, d.kind)
			continue
		}
		l.disks = append(l.disks, d.folder)
	}
}

// staff starts the authors and the keepers.
func (l *lab) staff(ctx context.Context) error {
	for i, how := range []manner{probe, steady, steady, leaver, ghost} {
		name := fmt.Sprintf("f%d", i)
		edges, log, err := l.desk(name)
		if err != nil {
			return err
		}
		a := &author{
			name: name, manner: how, gpu: i%2 == 0, masters: edges, dial: l.ear.dial(name), book: l.book, work: l.work, quiet: l.quiet,
			log: log, orders: make(chan order), random: rand.New(rand.NewPCG(l.seed, uint64(i))),
		}
		l.authors = append(l.authors, a)
		l.running.Go(func() { a.run(ctx) })
	}
	for i, h := range hoards() {
		for n := range h.keepers {
			name := fmt.Sprintf("%s.%d", h.name, n+1)
			edges, log, err := l.desk(name)
			if err != nil {
				return err
			}
			k := &keeper{hoard: h, name: name, masters: edges, dial: l.ear.dial(name), log: log, quiet: l.quiet, random: rand.New(rand.NewPCG(l.seed, uint64(100*(i+1)+n)))}
			l.keepers = append(l.keepers, name)
			l.running.Go(func() { k.run(ctx) })
		}
	}
	return nil
}

// desk is what every framework needs: its ways to the masters and a log.
func (l *lab) desk(name string) ([]string, hclog.Logger, error) {
	edges, err := l.edges(name)
	if err != nil {
		return nil, nil, err
	}
	log, err := os.Create(filepath.Join(l.folder, name+".log"))
	if err != nil {
		return nil, nil, err
	}
	l.logs = append(l.logs, log)
	return edges, hclog.New(&hclog.LoggerOptions{Name: name, Output: log, Level: hclog.Info}), nil
}

// raze ends everything that was started.
func (l *lab) raze() error {
	var errs []error
	for _, d := range slices.Concat(l.agents, l.masters) {
		if d.cmd != nil {
			_ = d.signal(syscall.SIGCONT, true) // it has ended if this fails
			errs = append(errs, d.kill())
		}
	}
	l.mesh.close()
	// Without its agent a task goes on: it is ended by its pid.
	for range 50 {
		left := l.work.processes()
		if len(left) == 0 {
			break
		}
		for pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already if this fails
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, disk := range l.disks {
		errs = append(errs, syscall.Unmount(disk, syscall.MNT_DETACH))
	}
	for _, log := range l.logs {
		errs = append(errs, log.Close())
	}
	return errors.Join(append(errs, l.book.close())...)
}
