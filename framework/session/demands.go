package session

import (
	"maps"
	"slices"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// standing is a demand that still stands.
type standing struct {
	demand   offers.Demand
	left     int  // units not known to be accepted, of a counted demand
	doubtful int  // of these, units whose accept lost its answer; not stated again meanwhile
	reopen   bool // some of them turned out free
	over     bool // the master may take it to be for more units than are left
	number   uint64
	among    uint64 // the message in which it was stated last with others, 0: alone
}

// Demand states, replaces or (count 0) withdraws demands. Either all of them
// are taken or, with an error that names the first bad one, none.
func (s *Session) Demand(ds ...offers.Demand) error {
	fresh := 0
	for i := range ds {
		if err := ds[i].Validate(); err != nil {
			return offers.Errorf(offers.BadDemand, "%s", err)
		}
		if s.demands[ds[i].ID] == nil {
			fresh++
		}
	}
	if len(s.demands)+fresh > wire.MaxDemands {
		return offers.Errorf(offers.TooLarge, "%d demands; a framework has at most %d", len(s.demands)+fresh, wire.MaxDemands)
	}
	ds = lastOfEach(ds)
	for _, d := range ds {
		if d.Count != nil && *d.Count == 0 {
			delete(s.demands, d.ID)
			continue
		}
		st := &standing{demand: d, number: s.number()}
		if d.Count != nil {
			st.left = *d.Count
		}
		s.demands[d.ID] = st
	}
	if s.live {
		s.sendDemands(ds)
	}
	return nil
}

// lastOfEach leaves those out that a later one replaces, so that an error which
// names a demand is about what stands.
func lastOfEach(ds []offers.Demand) []offers.Demand {
	last := make(map[offers.DemandID]int, len(ds))
	for i := range ds {
		last[ds[i].ID] = i
	}
	if len(last) == len(ds) {
		return ds
	}
	var out []offers.Demand
	for i := range ds {
		if last[ds[i].ID] == i {
			out = append(out, ds[i])
		}
	}
	return out
}

// Withdraw ends demands; unknown ones are skipped.
func (s *Session) Withdraw(ids ...offers.DemandID) {
	var none []offers.Demand
	zero := 0
	for _, id := range ids {
		if s.demands[id] != nil {
			delete(s.demands, id)
			none = append(none, offers.Demand{ID: id, Count: &zero})
		}
	}
	if s.live && len(none) > 0 {
		s.sendDemands(none)
	}
}

// Left returns the units of a counted demand that are not yet accepted, 0 for
// one that is met or unknown, -1 for a standing demand without a count.
func (s *Session) Left(id offers.DemandID) int {
	st := s.demands[id]
	switch {
	case st == nil:
		return 0
	case st.demand.Count == nil:
		return -1
	}
	return st.left
}

func (s *Session) restateDemands() {
	var ds []offers.Demand
	for _, st := range slices.SortedFunc(maps.Values(s.demands), byNumber) {
		st.reopen, st.over = false, false
		if d := st.unmet(); d.Count == nil || *d.Count > 0 {
			ds = append(ds, d)
		}
	}
	s.sendDemands(ds)
}

// unmet returns the demand as it is to be stated now.
func (st *standing) unmet() offers.Demand {
	d := st.demand
	if d.Count != nil {
		left := st.left - st.doubtful
		d.Count = &left
	}
	return d
}

// settled says what a lost accept has come to for one unit of st.
func (s *Session) settled(st *standing, state offers.State) {
	if st == nil {
		return
	}
	st.doubtful--
	if state == offers.Dropped || state == offers.Rejected {
		st.reopen = true
	} else {
		s.met(st)
	}
}

// reopenDemands states the demands again of which lost accepts took nothing.
// An accept in flight meanwhile is not left out: if it succeeds the demand
// stands for too much until it is met, and is withdrawn then; left out and
// refused, it would stand for too little for ever.
func (s *Session) reopenDemands() {
	var ds []offers.Demand
	for _, st := range slices.SortedFunc(maps.Values(s.demands), byNumber) {
		if st.reopen {
			st.reopen, st.over = false, s.takes(st)
			ds = append(ds, st.unmet())
		}
	}
	s.sendDemands(ds)
}

// takes reports whether an accept in flight takes units of st.
func (s *Session) takes(st *standing) bool {
	for _, a := range s.accepts {
		for _, t := range a.state {
			if t.from == st {
				return true
			}
		}
	}
	return false
}

// demandBytes bounds one demand message well below wire.MaxMessage.
const demandBytes = 1 << 20

func (s *Session) sendDemands(ds []offers.Demand) {
	var part wire.DemandMessage
	var stated []*standing // in part
	size := 0
	flush := func() {
		if len(part.Demands) > 0 {
			s.send(&part, s.nameStatement(stated, len(part.Demands)))
		}
		part, stated, size = wire.DemandMessage{}, nil, 0
	}
	for i := range ds {
		raw, err := s.form.Item(&ds[i])
		if err != nil {
			s.show(Refused{Err: offers.Errorf(offers.BadDemand, "%s", err), Request: "demand", Demand: ds[i].ID})
			continue
		}
		if size+len(raw) > demandBytes {
			flush()
		}
		size += len(raw) + 1
		part.Demands = append(part.Demands, raw)
		if st := s.demands[ds[i].ID]; st != nil {
			stated = append(stated, st)
		}
	}
	flush()
}

// nameStatement returns the request id of a message with so many demands, of
// which those stand. It names the demand and not its id, which may be another's
// when an error comes.
func (s *Session) nameStatement(stated []*standing, demands int) string {
	switch {
	case len(stated) == 0:
		return "demand"
	case demands == 1:
		stated[0].among = 0
		return numbered("demand", stated[0].number)
	}
	n := s.number()
	for _, st := range stated {
		st.among = n
	}
	return numbered("demands", n)
}

// refusedDemand takes an error about a demand that was stated alone. One that
// was replaced or withdrawn since is nobody's any more.
func (s *Session) refusedDemand(err *offers.Error, number uint64) {
	for id, st := range s.demands {
		if st.number == number {
			delete(s.demands, id)
			s.show(Refused{Err: err, Request: "demand", Demand: id})
			return
		}
	}
}

// refusedAmong takes an error about one of the demands of a message. Where it does
// not say about which, each that is still wanted is stated once more, alone. Left as
// they are, the refused one would be waited for as long as the connection holds.
func (s *Session) refusedAmong(err *offers.Error, message uint64, refused offers.DemandID) {
	if refused != "" {
		if st := s.demands[refused]; st != nil && st.among == message {
			s.refusedDemand(err, st.number)
		}
		return
	}
	for _, st := range slices.SortedFunc(maps.Values(s.demands), byNumber) {
		if st.among != message {
			continue
		}
		st.reopen, st.over = false, s.takes(st)
		s.sendDemands([]offers.Demand{st.unmet()})
	}
}

// met counts one accepted task against the demand it came from. A demand that
// was replaced since then is another one.
func (s *Session) met(st *standing) {
	if st == nil || st.demand.Count == nil || st.left == 0 {
		return
	}
	st.left--
	if st.left == 0 && s.demands[st.demand.ID] == st {
		delete(s.demands, st.demand.ID)
		if st.over && s.live {
			s.sendDemands([]offers.Demand{{ID: st.demand.ID, Count: new(int)}})
		}
	}
}
