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
	done    int // steps that were acted on
}

// What one Raft entry holds at most, but for a single command that is larger: as
// many of the commonest ones as are worth it, and not much more than those weigh. The
// entries under way are in memory a dozen times over, as commands, in JSON, encoded,
// and in the pages of the log, and with them those of the log's last page, which is
// written anew with each.
const (
	entryCommands = 8192
	entryWeight   = 4 << 20
)

// depth is how many entries are under way at the same time: one is written to
// the disk while the one before is applied and acted upon. More would only be
// smaller ones, of which each costs as much again.
const depth = 2

// entrySize returns how many steps of those that wait go into one entry: all of
// them, save where there are very many or very large ones.
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

// wait has the steps of a turn proposed with the next entry.
func (l *loop) wait(steps []lead.Step) {
	for i := range steps {
		l.weight += steps[i].Command.Weight()
	}
	if len(l.waiting) == 0 {
		l.waiting = steps
	} else {
		l.waiting = append(l.waiting, steps...)
	}
}

// full reports whether what waits is to be proposed before there is more.
func (l *loop) full() bool { return len(l.waiting) >= entryCommands || l.weight >= entryWeight }

// propose makes entries of what waits, as many as may be under way.
func (l *loop) propose(now time.Time) {
	for l.underWay < depth && len(l.waiting) > 0 {
		n := entrySize(l.waiting)
		batch := l.waiting[:n:n]
		commands := make([]state.Command, n)
		for i := range commands {
			commands[i] = batch[i].Command
			l.weight -= commands[i].Weight()
		}
		if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
			l.waiting = nil
		}
		l.underWay++
		l.proposed <- proposal{l.core, batch, l.replica.Apply(l.term, commands), now} // there is room for depth
	}
}

// awaitCommits hands decided proposals back to the loop, in order, until there
// will be no more.
func (l *loop) awaitCommits() {
	defer close(l.committed)
	for p := range l.proposed {
		results, err := p.future.Wait()
		l.committed <- outcome{proposal: p, results: results, err: err}
	}
}

// conclude acts on what was committed. After a failure nobody knows what the
// others hold, so the soft state is dropped and built anew.
func (l *loop) conclude(out outcome) {
	if out.done == 0 {
		l.underWay--
	}
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
	if out.done == 0 {
		l.meters.commits.Observe(now.Sub(out.at).Seconds())
	}
	l.core.At(now)
	s := l.replica.State()
	out.done += l.core.CommittedUntil(out.batch[out.done:], out.results[out.done:], s, l.late)
	if out.done < len(out.batch) {
		l.unfinished = &out
		return
	}
	l.feed.show(s)
}

// goOn acts on more of what was left unfinished in the turn before.
func (l *loop) goOn() {
	out := *l.unfinished
	l.unfinished = nil
	l.conclude(out)
}
