package master

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	shown "github.com/ringmaster-project/ringmaster/master/api"
	"github.com/ringmaster-project/ringmaster/master/replica"
	"github.com/ringmaster-project/ringmaster/offers"
)

// A hand-over is over when the next leader is known; it is looked for this
// often and this long.
const (
	handOverLook  = 10 * time.Millisecond
	handOverLimit = 5 * time.Second
)

// transferLeader hands the leadership to the master that the order names, or
// to the one that is furthest ahead.
func (a *api) transferLeader(w http.ResponseWriter, r *http.Request) error {
	var order shown.Transfer
	if err := readBody(r, &order); err != nil {
		return err
	}
	if err := a.replica.VerifyLeader(); err != nil {
		return a.elsewhere(w, r, err)
	}
	err := a.mayName(order.To)
	switch {
	case err != nil:
	case order.To == "":
		err = a.replica.TransferLeadership()
	default:
		err = a.replica.TransferLeadershipTo(r.Context(), order.To)
	}
	if err != nil {
		return a.impossible(w, r, err)
	}
	leader, err := a.nextLeader(r.Context())
	if err != nil {
		return undecided(err)
	}
	return write(w, shown.Transferred{Leader: shown.Leader{Name: leader.Name, Address: leader.HTTP}})
}

// nextLeader waits until the other masters have elected one. That can be this
// one again.
func (a *api) nextLeader(ctx context.Context) (replica.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, handOverLimit)
	defer cancel()
	tick := time.NewTicker(handOverLook)
	defer tick.Stop()
	for {
		if leader, ok := a.replica.Leader(); ok {
			return leader, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return replica.Member{}, errNoLeader()
		}
	}
}

// removeMaster takes a master out of the cluster for good. It does not stop
// that master's process.
func (a *api) removeMaster(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	if err := a.replica.VerifyLeader(); err != nil {
		return a.elsewhere(w, r, err)
	}
	name := r.PathValue("name")
	err := a.mayName(name)
	if err == nil {
		err = undecided(a.replica.Remove(r.Context(), name))
	}
	if err != nil {
		return a.impossible(w, r, err)
	}
	return write(w, shown.MasterAct{Name: name, Masters: a.showMasters()})
}

// mayName answers 404 for a master that is not there; "" is any.
func (a *api) mayName(name string) error {
	var names []string
	for _, m := range a.replica.Members() {
		if name == "" || m.Name == name {
			return nil
		}
		names = append(names, m.Name)
	}
	return &statusError{http.StatusNotFound, offers.Errorf(offers.BadMessage, "no master is called %.70q; there are: %s", name, strings.Join(names, ", "))}
}

// impossible makes an order that was understood but does not fit the masters
// as they are a conflict.
func (a *api) impossible(w http.ResponseWriter, r *http.Request, err error) error {
	var chosen *statusError
	var known *offers.Error
	if !errors.As(err, &chosen) && errors.As(err, &known) && known.Code == offers.BadMessage {
		return &statusError{http.StatusConflict, known}
	}
	return a.elsewhere(w, r, err)
}
