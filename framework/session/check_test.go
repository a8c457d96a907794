package session

import "fmt"

// Check verifies the invariants of a session for the tests.
func (s *Session) Check() error {
	if !s.live && (len(s.outstanding) > 0 || len(s.accepts) > 0) {
		return fmt.Errorf("%d offers and %d accepts while not live", len(s.outstanding), len(s.accepts))
	}
	for id, t := range s.tasks {
		if _, both := s.ended.known[id]; both {
			return fmt.Errorf("task %s is in tasks and in ended", id)
		}
		if t.sent != nil && !s.waits(t.sent) {
			return fmt.Errorf("task %s waits for an accept that nobody waits for", id)
		}
		if t.lost && t.sent != nil {
			return fmt.Errorf("task %s is in flight and lost", id)
		}
	}
	for id, st := range s.demands {
		if st.left < 0 || st.doubtful < 0 || st.demand.Count != nil && st.left == 0 || st.demand.ID != id {
			return fmt.Errorf("demand %s: %d left, %d in doubt", id, st.left, st.doubtful)
		}
	}
	if len(s.ended.known) > s.ended.limit {
		return fmt.Errorf("%d ended tasks are remembered", len(s.ended.known))
	}
	return nil
}

func (s *Session) waits(a *accept) bool {
	for _, other := range s.accepts {
		if other == a {
			return true
		}
	}
	return false
}
