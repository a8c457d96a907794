package offers

import "time"

// Offer is room on one agent that a framework may use until it expires. It is
// one-shot: accepted, declined, rescinded or expired, whichever comes first.
type Offer struct {
	ID        OfferID
	Framework FrameworkID
	Demand    DemandID
	Agent     AgentID
	Unit      Resources // what one unit of a counted demand asked; zero for a whole-agent offer
	Units     int       // units of a counted demand; 0 marks a whole-agent offer
	Held      Holding   // exactly what is kept free for it
	Ring      RingRef
	Stated    time.Time // when its demand was
	Issued    time.Time
	Expires   time.Time

	issued      uint64 // order of issue
	heaped      int    // position in the book's heap
	ofAgent     link
	ofFramework link
}

// Whole reports whether the offer is all that was free on the agent.
func (o *Offer) Whole() bool { return o.Units == 0 }

// RingRef says in which ring the agent was found.
type RingRef struct {
	Resource string `json:"resource"`
	Index    int    `json:"index"` // from 1
}
