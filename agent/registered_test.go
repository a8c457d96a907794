package agent_test

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestPartsOfAnAnswer has a master that tells an agent in several parts what to
// forget: before the last one the agent is not registered, and what is said then is
// about its registration.
func TestPartsOfAnAnswer(t *testing.T) {
	m := newMaster(t)
	run(t, config(t, t.TempDir(), m))
	l, _ := m.next()
	part := wire.AgentRegistered{AgentID: "a1", More: true}
	part.Master.Term = 1
	l.say(&part)
	l.say(&wire.ErrorMessage{Code: offers.Unavailable, Message: "not now"})
	l, _ = m.next() // it has come anew

	l.say(&part)
	last := part
	last.More = false
	l.say(&last)
	l.say(&wire.ErrorMessage{Code: offers.Unavailable, Message: "not now"})
	l.launch(1, shell("t1", "exit 0")) // it has stayed
	l.end("t1")
}
