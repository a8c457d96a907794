package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// fault is one way to break the cluster, and to mend it again.
type fault struct {
	kind   string
	on     string // of two faults at a time each is on something else; see alone
	weight int    // how often in a deck; 0: only when it is asked for by name
	do     func(*lab, *rand.Rand) (string, error)
}

// alone is on everything: what it expects holds only while all else is well.
const alone = "alone"

// errSkipped says that a fault is not possible here.
var errSkipped = errors.New("skipped")

// faults are all kinds. Each returns when what it broke is whole again; an
// error means that it did not become whole.
func faults() []fault {
	return []fault{
		{"kill-leader", "masters", 3, killLeader},
		{"kill-follower", "masters", 1, killFollower},
		{"kill-all-masters", "masters", 1, killAllMasters},
		{"pause-leader", "masters", 1, pauseLeader},
		{"pause-follower", "masters", 1, pauseFollower},
		{"transfer-leader", "masters", 2, transferLeader},
		{"replace-master", "masters", 1, replaceMaster},
		{"fsync-error-master", "masters", 1, fsyncErrorMaster},
		{"restart-master", "masters", 1, restartMaster},
		{"full-disk-master", "masters", 1, fullDiskMaster},
		{"kill-agent", "agents", 2, killAgent},
		{"pause-agent", "agents", 1, pauseAgent},
		{"restart-agent", "agents", 1, restartAgent},
		{"damaged-checkpoint", "agents", 1, damagedCheckpoint},
		{"older-checkpoint", "agents", 1, olderCheckpoint},
		{"full-disk-agent", "agents", 1, fullDiskAgent},
		{"fsync-error-agent", "agents", 1, fsyncErrorAgent},
		{"drain-agent", "agents", 1, drainAgent},
		{"partition-agent", "network", 1, partitionAgent},
		{"partition-leader", "network", 1, partitionLeader},
		{"one-way-partition", "network", 2, oneWayPartition},
		{"delay", "network", 1, delayEverything},
		{"reset-connections", "network", 1, resetConnections},
		{"partition-framework", "frameworks", 1, partitionFramework},
		{"kill-framework", "frameworks", 2, killFramework},
		{"slow-reader", "frameworks", 1, slowReader},
		{"framework-failover", alone, 1, frameworkFailover},
	}
}

// span returns a time between two bounds.
func span(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}

const comeBack = time.Minute // how long a restarted daemon may take to serve

// claim takes one of ds for a fault that no other fault has.
func (l *lab) claim(r *rand.Rand, ds []*daemon) (d *daemon, release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := slices.DeleteFunc(slices.Clone(ds), func(d *daemon) bool { return l.busy[d] })
	if len(free) == 0 {
		return nil, nil, fmt.Errorf("%w: all are busy", errSkipped)
	}
	d = free[r.IntN(len(free))]
	l.busy[d] = true
	return d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.busy, d)
	}, nil
}

// leader returns the master that leads, for faults on masters, of which there
// is one at a time.
func (l *lab) leader() (*daemon, uint64, error) {
	name, term, err := l.operator.leader(context.Background())
	if err != nil {
		return nil, 0, fmt.Errorf("no leader to hit: %w", err)
	}
	i := slices.IndexFunc(l.masters, func(d *daemon) bool { return d.name == name })
	return l.masters[i], term, nil
}

// again starts ds and waits until they serve. One that does not is started
// once more, so that what follows tells of other things.
func again(ds ...*daemon) error {
	for _, d := range ds {
		if err := d.start(); err != nil {
			return err
		}
	}
	for _, d := range ds {
		if err := d.awaitReady(comeBack); err != nil {
			return errors.Join(err, d.dump(), d.start(), d.awaitReady(comeBack))
		}
	}
	return nil
}

func killLeader(l *lab, r *rand.Rand) (string, error) {
	d, term, err := l.leader()
	if err != nil {
		return "", err
	}
	at := time.Now()
	if err := d.kill(); err != nil {
		return d.name, err
	}
	l.mu.Lock()
	l.failovers = append(l.failovers, failover{at, term})
	l.mu.Unlock()
	time.Sleep(span(r, 0, 5*time.Second))
	return fmt.Sprintf("%s in term %d", d.name, term), again(d)
}

func killFollower(l *lab, r *rand.Rand) (string, error) {
	d, err := l.follower(r)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return d.name, err
	}
	time.Sleep(span(r, 0, 4*time.Second))
	return d.name, again(d)
}

func killAllMasters(l *lab, r *rand.Rand) (string, error) {
	for _, d := range l.masters {
		if err := d.kill(); err != nil {
			return d.name, err
		}
	}
	time.Sleep(span(r, 0, 3*time.Second))
	return "", again(l.masters...)
}

// pause stops d for a while.
func pause(d *daemon, how time.Duration) error {
	if err := d.signal(syscall.SIGSTOP, false); err != nil {
		return err
	}
	time.Sleep(how)
	return d.signal(syscall.SIGCONT, false)
}

func pauseLeader(l *lab, r *rand.Rand) (string, error) {
	d, term, err := l.leader()
	if err != nil {
		return "", err
	}
	how := span(r, 2*time.Second, 8*time.Second)
	return fmt.Sprintf("%s in term %d for %v", d.name, term, how), pause(d, how)
}

func pauseFollower(l *lab, r *rand.Rand) (string, error) {
	d, err := l.follower(r)
	if err != nil {
		return "", err
	}
	how := span(r, 2*time.Second, 8*time.Second)
	return fmt.Sprintf("%s for %v", d.name, how), pause(d, how)
}

func pauseAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	how := agentTimeout + span(r, time.Second, 4*time.Second)
	return fmt.Sprintf("%s for %v", d.name, how), pause(d, how)
}

// upgrade stops d cleanly and starts it again.
func upgrade(d *daemon, r *rand.Rand) error {
	if err := d.stop(20 * time.Second); err != nil {
		return err
	}
	time.Sleep(span(r, 0, time.Second))
	return again(d)
}

func restartMaster(l *lab, r *rand.Rand) (string, error) {
	d := l.masters[r.IntN(len(l.masters))]
	return d.name, upgrade(d, r)
}

func restartAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	return d.name, upgrade(d, r)
}

func killAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	if err := d.kill(); err != nil {
		return d.name, err
	}
	time.Sleep(span(r, 0, agentTimeout+2*time.Second))
	return d.name, again(d)
}

// drainAgent also undrains it.
func drainAgent(l *lab, r *rand.Rand) (string, error) {
	d, release, err := l.claim(r, l.agents)
	if err != nil {
		return "", err
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), comeBack)
	defer cancel()
	id, err := l.agentID(ctx, d.name)
	if err != nil {
		return d.name, err
	}
	soon, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := l.operator.ask(soon, "POST", "/v1/agents/"+id+"/drain", `{"deadline": "1s"}`, nil); err != nil {
		return d.name, fmt.Errorf("%w: %w", errSkipped, err) // unreachable, or no leader
	}
	time.Sleep(span(r, time.Second, 5*time.Second))
	return d.name, l.operator.ask(ctx, "POST", "/v1/agents/"+id+"/undrain", "", nil)
}

// agentID returns the id of the agent of that name that is not gone.
func (l *lab) agentID(ctx context.Context, name string) (string, error) {
	agents, err := l.operator.agents(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range agents {
		if a.Name == name && a.State != "gone" {
			return string(a.ID), nil
		}
	}
	return "", fmt.Errorf("the masters know no agent %s", name)
}

func slowReader(l *lab, r *rand.Rand) (string, error) {
	a := l.authors[1+r.IntN(len(l.authors)-1)]
	o := order{stall: span(r, 3*time.Second, 10*time.Second), done: make(chan error, 1)}
	return fmt.Sprintf("%s for %v", a.name, o.stall), a.order(o)
}

// killFramework ends an author's client as kill -9 ends a program: what it has
// not sent is lost, and its connections break. It comes back with its id and
// with what it knows of its tasks, as from a disk.
func killFramework(l *lab, r *rand.Rand) (string, error) {
	a := l.authors[r.IntN(len(l.authors))]
	crash := func() (heal func()) {
		heal = l.mesh.sever(between([]string{a.name}, names(l.masters))...)
		l.mesh.reset(func(c link) bool { return c.from == a.name })
		return heal
	}
	return a.name, a.order(order{crash: crash, done: make(chan error, 1)})
}

func frameworkFailover(l *lab, r *rand.Rand) (string, error) {
	a := l.authors[1+r.IntN(len(l.authors)-1)]
	return a.name, a.order(order{usurp: true, done: make(chan error, 1)})
}

// order hands o to the author and waits.
func (a *author) order(o order) error {
	select {
	case a.orders <- o:
	case <-time.After(20 * time.Second):
		return fmt.Errorf("%w: %s is busy", errSkipped, a.name)
	}
	return <-o.done
}
