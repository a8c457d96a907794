package tasks

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Launch is what never changes about a task: written down once, before
// anything of it starts.
type Launch struct {
	wire.LaunchTask           // its Holding is what the agent bound
	Accepted        time.Time // by the agent
}

// Ref names the task in the cluster.
func (l Launch) Ref() offers.TaskRef {
	return offers.TaskRef{Framework: l.Framework, Task: l.Task.ID}
}

// Progress is what changes about a task.
type Progress struct {
	State   offers.State
	Process *record.Identity // of the shim or the container, whether or not it has begun; nil: nothing of it has run
	Started time.Time        // zero until it runs
	Kill    *KillOrder       // set once it was told to end
	Overran bool             // its max_runtime has passed
	Doom    *Doom            // set once the agent ends it for its own fault
	Healthy *bool            // how its last health check that counts went; nil before
	Ailing  string           // what it was last told about devices of it that are unwell
	Orphan  bool             // the masters have forgotten it: it ends without reports
	Serial  int              // of the last report
	Reports []Report         // not acknowledged, oldest first
}

// KillOrder is the wish that a task ends.
type KillOrder struct {
	Grace  time.Duration
	Reason string
	Since  time.Time
}

// Report is one status that waits for its acknowledgement.
type Report struct {
	ID       offers.UpdateID
	State    offers.State
	Reason   string
	Message  string
	ExitCode *int
	Signal   string
	Healthy  *bool // only in reports of a change of it
	Time     time.Time
}

// Known is one task as it is written down.
type Known struct {
	Launch   Launch
	Progress Progress
}

// task is one task in the machine's memory.
type task struct {
	Launch
	Progress

	held     bool      // its holding is taken in the room
	claimed  bool      // it came back with the agent and is counted whether or not it fits
	restored bool      // it is known from an earlier run of the agent
	run      string    // marks the end, if it is told in this run; "" in the task's first
	waiting  bool      // nothing of it has run, and it starts once a master has taken this run
	prepared bool      // its shim waits for its gate or the task runs, in this run of the agent
	check    time.Time // when its next health check is due; zero: one is under way, or none is wanted
	failures int       // health checks in a row
	over     time.Time // since when it uses more of a device than it was given, as it was warned; zero: it does not
	deadline time.Time // when SIGKILL follows; zero: it was not asked to end, or is killed already
	resend   time.Time // when its reports are sent again; zero: none wait or no master listens
	pause    time.Duration
}

// After how long reports are sent again, doubling from the first to the last. A
// connection loses nothing, and the leader keeps what it took until the
// framework has acknowledged it, so this is for what it could not keep. It is
// long, because what merely waits there must not come again and again.
const (
	firstResend = 30 * time.Second
	lastResend  = time.Minute
)

// ended reports whether nothing of the task can run any more.
func (t *task) ended() bool { return t.State.Terminal() }

// grace returns how long the task has between SIGTERM and SIGKILL.
func (t *task) grace() time.Duration {
	if t.Kill != nil {
		return t.Kill.Grace
	}
	return cmp.Or(t.Task.KillGrace, offers.DefaultKillGrace).Std()
}

// overrun returns when the task has run for too long, zero for never.
func (t *task) overrun() time.Time {
	if t.Task.MaxRuntime <= 0 || t.Started.IsZero() || t.Overran || t.Doom != nil || t.ended() {
		return time.Time{}
	}
	return t.Started.Add(t.Task.MaxRuntime.Std())
}

// report appends a report. Its id holds the time of the launch, so that an
// acknowledgement of an earlier task of the same id means nothing to this one,
// and where the end of a task that was brought back is told, the time of that:
// an older copy counts again from where others went on, and may tell another
// end. What comes before the end is the same again.
func (t *task) report(r Report) {
	t.State = r.State
	if t.Orphan {
		return
	}
	t.Serial++
	id := strconv.FormatInt(t.Accepted.UnixNano(), 36) + "."
	if r.State.Terminal() {
		id += t.run
	}
	r.ID = offers.UpdateID(id + strconv.Itoa(t.Serial))
	t.Reports = append(t.Reports, r)
}

// status returns a report as it travels, cut to what masters keep of it: an error may
// name all of a command.
func (t *task) status(r Report, agent offers.AgentID, host string) wire.TaskStatus {
	s := wire.TaskStatus{Framework: t.Framework, LaunchID: t.LaunchID, Status: offers.Status{
		Task: t.Task.ID, Agent: agent, State: r.State, UpdateID: r.ID, Reason: r.Reason, Message: r.Message,
		ExitCode: r.ExitCode, Signal: r.Signal, Healthy: r.Healthy, Address: host, Started: t.Started, Time: r.Time,
	}}
	if r.State != offers.Dropped && r.State != offers.Rejected {
		s.Devices = t.Holding.Devices.Map()
	}
	s.Cut()
	return s
}

func compareNames(a, b DeviceName) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.ID, b.ID))
}

func compareRefs(a, b offers.TaskRef) int {
	return cmp.Or(cmp.Compare(a.Framework, b.Framework), cmp.Compare(a.Task, b.Task))
}

func exited(code int) *int { return &code }

func notFree(short string) string {
	return fmt.Sprintf("the agent has too little %s free for it", short)
}
