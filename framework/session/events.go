package session

import (
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// Event is one of the types below.
type Event interface{ event() }

type (
	// Offered brings new offers. They are gone with the connection.
	Offered struct{ Offers []wire.Offer }
	// Rescinded takes offers back that were not accepted yet.
	Rescinded struct {
		Offers []offers.OfferID
		Reason string
	}
	// Waits says of a demand that no agent that the masters know could ever meet
	// it. It stands all the same, for agents that may come.
	Waits struct {
		Demand  offers.DemandID
		Stopped []string // the kinds that stop it
		Why     string   // one sentence
	}
	// Accepted says that the launches of these tasks are durable.
	Accepted struct {
		Offers []offers.OfferID
		Tasks  []offers.TaskID
	}
	// Updated reports a task's state.
	Updated struct{ Status offers.Status }
	// Reconciled ends the answers to one Reconcile of the caller.
	Reconciled struct{}
	// Disconnected says that the leader is away: every outstanding offer is
	// gone, tasks go on, and the client looks for the next leader.
	Disconnected struct{ Err error }
	// Reconnected says that a leader has registered the framework again.
	Reconnected struct{ Master wire.MasterInfo }
	// Refused is an error about one request.
	Refused struct {
		Err     *offers.Error
		Request string           // its type, such as "demand"; "" when the master did not say
		Demand  offers.DemandID  // the demand it is about, when it is about one
		Tasks   []offers.TaskID  // the tasks of a refused accept or kill
		Offers  []offers.OfferID // the offers of a refused accept, which it has no more
	}
)

func (Offered) event()      {}
func (Rescinded) event()    {}
func (Waits) event()        {}
func (Accepted) event()     {}
func (Updated) event()      {}
func (Reconciled) event()   {}
func (Disconnected) event() {}
func (Reconnected) event()  {}
func (Refused) event()      {}

// Output is what the shell has to do, in this order.
type Output struct {
	Frames  [][]byte // to send
	Events  []Event  // to show to the author, in order
	Answers []Answer // to store calls
	Hangup  string   // why to close the connection and look for another; "" to stay
	End     error    // why the framework has ended for good
}

// Answer answers the store call of that number.
type Answer struct {
	Call  uint64
	State wire.StateAnswer
	Err   error
}
