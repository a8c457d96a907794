package framework

import (
	"github.com/ringmaster-project/ringmaster/framework/session"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// What [Client.Next] returns, see package session for each.
type (
	Event        = session.Event
	Offered      = session.Offered      // new offers
	Rescinded    = session.Rescinded    // offers taken back
	Accepted     = session.Accepted     // launches that are durable now
	Updated      = session.Updated      // a task's state
	Reconciled   = session.Reconciled   // the end of the answers to Reconcile
	Disconnected = session.Disconnected // the leader is away, offers are gone
	Reconnected  = session.Reconnected  // a leader is there again
	Waits        = session.Waits        // a demand that no agent could ever meet
	Refused      = session.Refused      // an error about one request
)

// Units returns how often unit fits into an offer.
func Units(room wire.Offered, unit offers.Resources) int { return session.Units(room, unit) }
