package master

import (
	"errors"
	"fmt"
	"net/http"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/door"
)

// maxSnapshot bounds the snapshot that a request may bring.
const maxSnapshot = 1 << 30

// saveSnapshot streams the replicated state, as it was when a majority
// confirmed that this master leads. What is cut off on the way has no valid
// checksum.
func (a *api) saveSnapshot(w http.ResponseWriter, r *http.Request) error {
	s, err := a.memory(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	if s.ClusterID() == "" {
		return errNoLeader()
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"ringmaster-%s.snapshot\"", s.ClusterID()))
	n, err := s.WriteTo(w)
	if err != nil {
		a.logger.Warn("a snapshot broke off while it was saved", "bytes", n, "error", err)
		panic(http.ErrAbortHandler) // the only way to tell the client now
	}
	a.logger.Info("a snapshot was saved", "bytes", n)
	return nil
}

// restoreSnapshot replaces the replicated state. Nothing changes unless the
// whole snapshot was read and makes sense.
func (a *api) restoreSnapshot(w http.ResponseWriter, r *http.Request) error {
	now, err := a.memory(r.Context())
	if err != nil {
		return a.elsewhere(w, r, err)
	}
	s, err := state.Read(r.Body)
	if err != nil {
		return unreadable(err)
	}
	if err := mayReplace(now, s); err != nil {
		return err
	}
	if err := a.loop.restore(r.Context(), s); err != nil {
		return a.elsewhere(w, r, undecided(err))
	}
	n := s.Counts()
	return write(w, shown.Restored{ClusterID: s.ClusterID(), Agents: n.Agents, Frameworks: n.Frameworks, Tasks: n.Live, Term: a.replica.Term()})
}

// unreadable says what is wrong with a snapshot, unless it is only too large or
// did not come.
func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, door.ErrStill) {
		return err
	}
	return offers.Errorf(offers.BadMessage, "nothing was restored: %s", err)
}

// mayReplace refuses a snapshot without a cluster, and to put the state of one
// cluster in the place of another that is in use: its frameworks and tasks
// would be lost without anybody having ended them.
func mayReplace(now, by *state.State) error {
	if by.ClusterID() == "" {
		return offers.Errorf(offers.BadMessage, "nothing was restored: the snapshot is of a cluster that had not begun")
	}
	if by.ClusterID() == now.ClusterID() {
		return nil
	}
	living, tasks := 0, now.Counts().Live
	for f := range now.Frameworks() {
		if !f.Removed {
			living++
		}
	}
	if living+tasks > 0 {
		return conflict("nothing was restored: the snapshot is of cluster %.8s, and this cluster %.8s is in use (frameworks: %d, living tasks: %d): restore it on new masters, or tear these frameworks down first",
			by.ClusterID(), now.ClusterID(), living, tasks)
	}
	return nil
}
