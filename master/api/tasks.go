package api

import (
	"encoding/json"
	"time"

	"github.com/ringmaster-project/ringmaster/master/events"
	"github.com/ringmaster-project/ringmaster/offers"
)

// Task is a task, as long as it is remembered.
type Task struct {
	ID        offers.TaskID             `json:"id"`
	Name      string                    `json:"name"`
	Framework offers.FrameworkID        `json:"framework_id"`
	Agent     offers.AgentID            `json:"agent_id"`
	Role      offers.Role               `json:"role"`
	State     offers.State              `json:"state"`
	Resources TaskResources             `json:"resources"`
	Devices   map[string][]offers.Grant `json:"devices"` // that it holds, by class
	ExitCode  *int                      `json:"exit_code,omitempty"`
	Signal    string                    `json:"signal,omitempty"`
	Healthy   *bool                     `json:"healthy,omitempty"`
	Reason    string                    `json:"reason,omitempty"`
	Message   string                    `json:"message,omitempty"`
	Labels    map[string]string         `json:"labels,omitempty"`
	Killed    bool                      `json:"kill_ordered,omitempty"`
	Created   *time.Time                `json:"created"`
	Started   *time.Time                `json:"started,omitempty"`
	Finished  *time.Time                `json:"finished,omitempty"`
	History   []Moment                  `json:"history,omitempty"` // of one task that was asked for, the eldest first
}

// TaskResources is what a task asked for, every scalar kind shown.
type TaskResources struct {
	CPUs      json.Number                 `json:"cpus"`            // cores
	Mem       int64                       `json:"mem"`             // bytes
	Disk      int64                       `json:"disk"`            // bytes
	Bandwidth int64                       `json:"bandwidth"`       // bits per second
	Ports     offers.Ports                `json:"ports,omitempty"` // that it holds
	Devices   map[string]offers.DeviceAsk `json:"devices,omitempty"`
}

// Moment is one moment of a task's life.
type Moment struct {
	Time     time.Time   `json:"time"`
	Type     events.Type `json:"type"`
	State    string      `json:"state,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Message  string      `json:"message,omitempty"`
	ExitCode *int        `json:"exit_code,omitempty"`
	Signal   string      `json:"signal,omitempty"`
	Healthy  *bool       `json:"healthy,omitempty"`
}

// Tasks is a page of tasks, by framework and id.
type Tasks struct {
	Tasks []Task `json:"tasks"`
	Next  string `json:"next,omitempty"` // for the page after it; none: it is the last
}

// Page returns what is on the page, and what asks for the next one.
func (p Tasks) Page() ([]Task, string) { return p.Tasks, p.Next }

// Kill orders the end of a task.
type Kill struct {
	Grace *offers.Duration `json:"grace,omitempty"` // between the signal that asks and the one that kills; none: the task's own
}
