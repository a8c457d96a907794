package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/pages/disktest"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// asFailing holds "kind:n" for an agent whose disk is to fail.
const asFailing = "RINGMASTER_TEST_FAILING"

// player is a master that plays a life with an agent whatever becomes of it: it
// launches what the agent does not know and acknowledges what it hears.
type player struct {
	t     *testing.T
	m     *master
	logs  string
	tasks map[offers.TaskID]offers.Task
	ends  map[offers.TaskID]wire.TaskStatus
	term  uint64
}

const players = 4 // tasks of a life

func newPlayer(t *testing.T) *player {
	p := &player{t: t, m: newMaster(t), logs: t.TempDir(), tasks: map[offers.TaskID]offers.Task{}, ends: map[offers.TaskID]wire.TaskStatus{}}
	for n := range players {
		id := offers.TaskID(fmt.Sprintf("t%d", n))
		p.tasks[id] = shell(id, fmt.Sprintf("echo started >> %s/%s; exit %d", p.logs, id, n))
	}
	return p
}

// play goes on until every task has ended or the agent has.
func (p *player) play(ended <-chan struct{}) {
	p.t.Helper()
	p.term++
	for len(p.ends) < players {
		select {
		case l := <-p.m.links:
			p.converse(l, ended)
			l.Close("the test goes on")
		case <-ended:
			return
		case <-time.After(patience):
			p.t.Fatal("the agent neither comes nor ends")
		}
	}
}

func (p *player) converse(l *link, ended <-chan struct{}) {
	for len(p.ends) < players {
		select {
		case m, ok := <-l.messages:
			if !ok {
				return
			}
			p.hear(l, m)
		case <-ended:
			return
		case <-time.After(patience):
			p.t.Fatal("the agent says nothing")
		}
	}
}

func (p *player) hear(l *link, m wire.Message) {
	var answers []wire.Message
	switch m := m.(type) {
	case *wire.RegisterAgent:
		if m.Doubt {
			p.t.Errorf("it doubts its own checkpoint: %+v", m)
		}
		registered := &wire.AgentRegistered{AgentID: "a1"}
		registered.Master.Term = p.term
		known := map[offers.TaskID]bool{}
		for _, t := range m.Tasks {
			known[t.Task] = true
		}
		answers = append(answers, registered)
		for id, task := range p.tasks {
			if _, over := p.ends[id]; !over && !known[id] {
				answers = append(answers, &wire.Launch{Term: p.term, Tasks: []wire.LaunchTask{{Framework: "f1", Task: task}}})
			}
		}
	case *wire.Statuses:
		for _, s := range m.Statuses {
			if s.State.Terminal() {
				p.ends[s.Task] = s
			}
			answers = append(answers, &wire.AcknowledgeStatus{Acknowledged: []wire.StatusRef{{TaskRef: ref(s.Task), UpdateID: s.UpdateID}}})
		}
	}
	for _, a := range answers {
		frame, err := wire.Encode(a, "")
		if err != nil {
			p.t.Fatal(err)
		}
		_ = l.Send(frame) // the agent may have ended
	}
}

// failing runs an agent whose disk fails, until it ends or all tasks have. It
// returns what it said, "" while it lives.
func (p *player) failing(dir, how string) string {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	marker := filepath.Join(p.t.TempDir(), "failed")
	var said bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asAgent+"="+dir+" "+p.m.address+" "+shim, asFailing+"="+how+":"+marker)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ends is in what it says
		close(ended)
	}()
	p.play(ended)
	wait := patience
	if _, err := os.Stat(marker); err != nil {
		wait = 0 // nothing failed, so it lives on
	}
	select {
	case <-ended:
		return strings.TrimSpace(said.String())
	case <-time.After(wait):
	}
	if wait > 0 {
		p.t.Errorf("%s: the agent goes on after that", how)
	}
	if err := cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-ended
	return ""
}

// TestFailedCommits makes every write and every sync of the checkpoint in the
// life of an agent fail. The agent ends with one sentence; what it had started
// it knows when it comes back, every task starts once and is reported with its
// exit code.
func TestFailedCommits(t *testing.T) {
	for _, kind := range []string{disktest.Write, disktest.Sync} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for n, failed := 1, true; failed; n++ {
				p, dir := newPlayer(t), filepath.Join(t.TempDir(), "agent")
				said := p.failing(dir, fmt.Sprintf("%s:%d", kind, n))
				if strings.Contains(said, disktest.ErrNotHere.Error()) {
					t.Skip(said)
				}
				failed = said != ""
				if failed && (!strings.Contains(said, "checkpoint") || strings.Contains(said, "\n")) {
					t.Errorf("%s %d: the agent ends with %q", kind, n, said)
				}
				again := p.failing(dir, kind+":1000000")
				if again != "" {
					t.Fatalf("%s %d: after it the agent ends with %q", kind, n, again)
				}
				for id, s := range p.ends {
					code := int(id[1] - '0')
					if s.ExitCode == nil || *s.ExitCode != code {
						t.Errorf("%s %d: %s ended %+v", kind, n, id, s)
					}
					if log := await(t, filepath.Join(p.logs, string(id))); log != "started" {
						t.Errorf("%s %d: starts of %s: %q", kind, n, id, log)
					}
				}
				if !failed {
					t.Logf("a life has less than %d calls of the kind", n)
				}
			}
		})
	}
}
