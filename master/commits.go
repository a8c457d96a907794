package master

import (
	"time"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/master/state"
)

// proposal is one Raft entry on its way.
type proposal struct {
	core   *lead.Core
	batch  []lead.Step
	future *replica.Future
	at     time.Time // when it was proposed
}

// outcome is a proposal that was decided.
type outcome struct {
	proposal
	results []state.Result
	err     error
}

// What one Raft entry holds at most. It is well below what state.Encode takes,
// since a command is larger encoded than its Weight says.
const (
	entryCommands = 8192
	entryWeight   = 16 << 20
)

// entrySize returns how many steps of a turn go into one entry: all of them,
// save where a turn brought very many or very large ones.
func entrySize(batch []lead.Step) int {
	weight := 0
	for i := range batch {
		weight += batch[i].Command.Weight()
		if i > 0 && (i == entryCommands || weight > entryWeight) {
			return i
		}
	}
	return len(batch)
}

// propose passes p to the committer. Where the pipeline is full it concludes
// what was decided meanwhile, so that the two never wait for each other.
func (l *loop) propose(p proposal) {
	for {
		select {
		case l.proposed <- p:
			return
		case out := <-l.committed:
			l.conclude(out)
		}
	}
}

// awaitCommits hands decided proposals back to the loop, in order, until there
// will be no more.
func (l *loop) awaitCommits() {
	defer close(l.committed)
	for p := range l.proposed {
		results, err := p.future.Wait()
		l.committed <- outcome{p, results, err}
	}
}

// conclude acts on what was committed. After a failure nobody knows what the
// others hold, so the soft state is dropped and built anew.
func (l *loop) conclude(out outcome) {
	if out.core != l.core || l.core == nil {
		return
	}
	if out.err != nil {
		l.logger.Warn("what was proposed could not be committed", "error", out.err)
		l.stepDown("the masters did not agree")
		l.takeUp()
		return
	}
	now := l.now()
	l.meters.commits.Observe(now.Sub(out.at).Seconds())
	l.core.At(now)
	s := l.replica.State()
	l.core.Committed(out.batch, out.results, s)
	l.feed.show(s)
}
