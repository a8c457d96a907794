package api

import (
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Status is the cluster at a glance.
type Status struct {
	ClusterID  string                    `json:"cluster_id"`
	Version    string                    `json:"version"`
	Leader     *Leader                   `json:"leader"` // null while there is none
	Term       uint64                    `json:"term"`
	Masters    []Master                  `json:"masters"`
	Agents     map[offers.AgentState]int `json:"agents"`     // by state
	Frameworks int                       `json:"frameworks"` // that are not removed
	Tasks      map[offers.State]int      `json:"tasks"`      // by state; ended ones as far as they are remembered
	Offers     int                       `json:"offers"`
	Waiting    int                       `json:"waiting"` // demands that wait
	Pending    map[string]int            `json:"pending"` // these by the kinds that stop them, each once for every kind
	Total      Amounts                   `json:"total"`   // of agents that are not unreachable or gone
	Used       Amounts                   `json:"used"`
	Offered    Amounts                   `json:"offered"`
}

// Leader is the master that leads.
type Leader struct {
	Name    string `json:"name"`
	Address string `json:"address"` // HTTP, host:port
}

// Master is one master.
type Master struct {
	Name    string `json:"name"`
	Address string `json:"address"` // HTTP, host:port; "" while unknown
	Raft    string `json:"raft"`
	Role    string `json:"role"` // leader, follower, joining while it has no vote yet, or unreachable where it does not answer the master that is asked
}

// Masters is the masters.
type Masters struct {
	Masters []Master `json:"masters"`
}

// MasterAct is the answer to the removal of a master.
type MasterAct struct {
	Name    string   `json:"name"`
	Masters []Master `json:"masters"` // that are left
}

// Transfer asks for another leader.
type Transfer struct {
	To string `json:"to,omitempty"` // the name of a master; the one that is furthest ahead where none is given
}

// Transferred is the answer to it.
type Transferred struct {
	Leader Leader `json:"leader"` // that was elected
}

// Restored is the answer to a snapshot that was put in the place of the state.
type Restored struct {
	ClusterID  string `json:"cluster_id"`
	Agents     int    `json:"agents"`
	Frameworks int    `json:"frameworks"`
	Tasks      int    `json:"tasks"`
	Term       uint64 `json:"term"`
}

// Usage is what there was, was used and was offered in the last hour.
type Usage struct {
	Every   offers.Duration `json:"every"`
	Samples []Sample        `json:"samples"` // the eldest first
}

// Sample is what was there, used and offered at one moment.
type Sample struct {
	Time    time.Time `json:"time"`
	Total   Amounts   `json:"total"`
	Used    Amounts   `json:"used"`
	Offered Amounts   `json:"offered"`
}

// Health says that a process serves.
type Health struct {
	Status string `json:"status"`
}

// Problem is the body of every answer that is an error.
type Problem struct {
	Error offers.Error `json:"error"`
}
