package linear

import (
	"fmt"
	"math"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Kind is what an operation does.
type Kind string

const (
	Register  Kind = "register"
	Teardown  Kind = "teardown"
	Get       Kind = "get"
	Put       Kind = "put"
	Delete    Kind = "delete"
	List      Kind = "list"
	Accept    Kind = "accept"
	Offered   Kind = "offered"   // one offer came
	Rescinded Kind = "rescinded" // one offer was taken back
	Closed    Kind = "closed"    // the connection, by the framework or by itself

	// What follows from the others; see tokensOf and sessionsOf.
	termOver Kind = "term over" // a later term has begun
	linkOver Kind = "link over" // the framework has registered on another connection
	expired  Kind = "expired"
	lapse    Kind = "lapse"   // the failover timeout may have passed
	overdue  Kind = "overdue" // it has passed for long
)

// Outcome is what an operation came to.
type Outcome string

const (
	Unknown Outcome = ""        // no answer, or one that says nothing
	Done    Outcome = "done"    // and Op holds the answer
	Refused Outcome = "refused" // for Code, and nothing was changed
)

// never is when an operation without answer ends.
const never = math.MaxInt64

// Op is one operation. Times are nanoseconds since the beginning of the
// history; what a kind does not need is zero.
type Op struct {
	Conn      int                `json:"conn"`
	Who       string             `json:"who"`
	Framework offers.FrameworkID `json:"framework,omitempty"`
	Kind      Kind               `json:"kind"`
	Call      int64              `json:"call"`
	Return    int64              `json:"return,omitempty"`
	Outcome   Outcome            `json:"outcome,omitempty"`
	Code      offers.Code        `json:"code,omitempty"`

	Key     string   `json:"key,omitempty"`
	Value   string   `json:"value,omitempty"`   // written or read
	If      *uint64  `json:"if,omitempty"`      // the version a write wants
	Version uint64   `json:"version,omitempty"` // read or given
	Keys    []string `json:"keys,omitempty"`    // that a list found

	Offers  []offers.OfferID `json:"offers,omitempty"`
	Tasks   []offers.TaskID  `json:"tasks,omitempty"`
	Expires int64            `json:"expires,omitempty"` // of the offer
	Term    uint64           `json:"term,omitempty"`    // of the connection
	Timeout int64            `json:"timeout,omitempty"` // failover timeout of the framework
}

// end is the Return that the checker is told.
func (o *Op) end() int64 {
	if o.Outcome == Unknown {
		return never
	}
	return o.Return
}

func (o *Op) String() string {
	out := fmt.Sprintf("%s[%d] %s", o.Who, o.Conn, o.Kind)
	if o.Key != "" {
		out += " " + o.Key
	}
	if o.If != nil {
		out += fmt.Sprintf(" if %d", *o.If)
	}
	switch o.Kind {
	case Get, Put, Delete:
		out += fmt.Sprintf(" %.40s v%d", o.Value, o.Version)
	case List:
		out += fmt.Sprint(" ", o.Keys)
	case Accept, Offered, Rescinded:
		out += fmt.Sprint(" ", o.Offers, o.Tasks)
	case Register:
		out += fmt.Sprintf(" %s in term %d", o.Framework, o.Term)
	}
	if o.Outcome == Unknown {
		return out + " ?"
	}
	return fmt.Sprint(out, " ", o.Outcome, " ", o.Code)
}
