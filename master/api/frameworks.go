package api

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Framework is a framework.
type Framework struct {
	ID              offers.FrameworkID `json:"id"`
	Name            string             `json:"name"`
	Role            offers.Role        `json:"role"`
	User            string             `json:"user,omitempty"`
	Connected       bool               `json:"connected"`
	Removed         bool               `json:"removed,omitempty"`
	Tasks           int                `json:"tasks"`    // that live
	Share           float64            `json:"share"`    // of its dominant kind
	Dominant        string             `json:"dominant"` // the kind of which it has the largest part
	Used            Amounts            `json:"used"`
	Offered         Amounts            `json:"offered"`
	Demands         int                `json:"demands"`
	Suppressed      bool               `json:"suppressed,omitempty"`
	Labels          map[string]string  `json:"labels,omitempty"`
	FailoverTimeout offers.Duration    `json:"failover_timeout"`
	Deadline        *time.Time         `json:"deadline,omitempty"` // removed then unless it is back
	Registered      *time.Time         `json:"registered"`
}

// Frameworks is a page of frameworks, the eldest first.
type Frameworks struct {
	Frameworks []Framework `json:"frameworks"`
	Next       string      `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p Frameworks) Page() ([]Framework, string) { return p.Frameworks, p.Next }

// FrameworkAct is the answer to the end of a framework.
type FrameworkAct struct {
	ID offers.FrameworkID `json:"id"`
}
