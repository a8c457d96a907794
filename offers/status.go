package offers

import (
	"fmt"
	"strings"
	"time"
)

// State is where a task is in its life. The zero value is no state.
//
//	staging ─▶ starting ─▶ running ─▶ killing ─▶ finished failed killed
//	   └──────────┴────────┴──────────┴───────▶ rejected dropped gone
//	unreachable ◀─▶ any of staging..killing, while the agent is away
type State string

// The states of a task. The last six are terminal.
const (
	Staging     State = "staging"     // accepted, on its way to the agent
	Starting    State = "starting"    // the agent prepares it
	Running     State = "running"     // its process runs
	Killing     State = "killing"     // it was told to end
	Unreachable State = "unreachable" // its agent is away
	Finished    State = "finished"    // ended with exit code 0
	Failed      State = "failed"      // ended otherwise
	Killed      State = "killed"      // ended after a kill, whatever the exit code
	Rejected    State = "rejected"    // broke a rule, never started
	Dropped     State = "dropped"     // never reached the agent, safe to launch again
	Gone        State = "gone"        // its agent is gone for good
)

var stateRank = map[State]int{
	Staging: 1, Starting: 2, Running: 3, Killing: 4, Unreachable: 3,
	Finished: 9, Failed: 9, Killed: 9, Rejected: 9, Dropped: 9, Gone: 9,
}

// StateNamed returns the state of that name, which shares the memory of its
// constant where it is known.
func StateNamed(name string) State {
	for _, s := range [...]State{Running, Finished, Staging, Starting, Killing, Unreachable, Failed, Killed, Rejected, Dropped, Gone} {
		if string(s) == name {
			return s
		}
	}
	return State(name)
}

// Known reports whether s is one of the states above.
func (s State) Known() bool { return stateRank[s] > 0 }

// Terminal reports whether s is the end of a task.
func (s State) Terminal() bool { return stateRank[s] == 9 }

// MayFollow reports whether a task in state from may be reported in state s:
// nothing follows a terminal state, and a task never goes back except out of
// unreachable.
func (s State) MayFollow(from State) bool {
	switch {
	case from.Terminal() || !s.Known():
		return false
	case s == Unreachable || from == Unreachable || from == "":
		return s != from
	default:
		return stateRank[s] > stateRank[from]
	}
}

// Reasons that a status may carry. They are stable words for programs.
const (
	ReasonUnknownTask    = "unknown_task"    // the master never made it durable, or forgot it long ago
	ReasonOfferGone      = "offer_gone"      // the accept named an offer that was no longer there
	ReasonBadTask        = "bad_task"        // malformed
	ReasonTooLarge       = "too_large"       // larger than its offer
	ReasonMaxRuntime     = "max_runtime"     // ran longer than it was allowed
	ReasonHealth         = "health"          // failed its health checks
	ReasonMemoryLimit    = "memory_limit"    // killed by the kernel for memory
	ReasonDiskLimit      = "disk_limit"      // its sandbox took more of the disk than it asked for
	ReasonImage          = "image"           // its container's image can't be had
	ReasonNoExecutor     = "no_executor"     // its agent runs no tasks of its kind
	ReasonContainerLost  = "container_lost"  // its container was removed by somebody else
	ReasonStart          = "start_failed"    // its program could not be started
	ReasonPortTaken      = "port_taken"      // another program on the agent's host uses one of its ports
	ReasonArtifact       = "artifact"        // one of its artifacts could not be fetched
	ReasonAgentLost      = "agent_lost"      // its agent was removed or replaced
	ReasonAgentAway      = "agent_away"      // its agent does not answer
	ReasonAgentRestarted = "agent_restarted" // its host restarted, or its agent came back not knowing all that ran
	ReasonAgentRefused   = "agent_refused"   // the agent had no room for it
	ReasonFrameworkGone  = "framework_gone"  // its framework ended or stayed away too long
	ReasonDeviceMemory   = "device_memory"   // used more memory of a device than it was given; while it runs, a warning
	ReasonDeviceUnwell   = "device_unwell"   // it runs, and one of its devices is unwell or not there
	ReasonDeviceWell     = "device_well"     // it runs, and all of its devices are well again
	ReasonReconciliation = "reconciliation"  // answer to reconcile
	ReasonPendingAgent   = "agent_not_back"  // its agent has not come back yet
	ReasonShimLost       = "supervisor_lost" // the process that watched it died
	ReasonRestored       = "restored"        // the masters' state was restored, and its agent does not know it
)

// Status is one report of a task's state. Reports of one task are ordered.
type Status struct {
	Task     TaskID             `json:"task_id"`
	Agent    AgentID            `json:"agent_id,omitempty"`
	State    State              `json:"state"`
	UpdateID UpdateID           `json:"update_id,omitempty"` // set when it wants an acknowledgement
	Reason   string             `json:"reason,omitempty"`
	Message  string             `json:"message,omitempty"`
	ExitCode *int               `json:"exit_code,omitempty"`
	Signal   string             `json:"signal,omitempty"`  // "SIGKILL"
	Healthy  *bool              `json:"healthy,omitempty"` // how its last health check went, while it runs; nil before the first
	Devices  map[string][]Grant `json:"devices,omitempty"`
	Address  string             `json:"address,omitempty"` // host of the agent
	Started  time.Time          `json:"started,omitzero"`  // when its process began; zero before that
	Time     time.Time          `json:"time"`
}

// Passing names the condition of a running task that a report tells, "" where
// it tells something else. Of each condition only the newest report matters,
// so that one that changes often does not fill the queues to a framework that
// is away.
func Passing(s State, reason string, healthy *bool) string {
	switch {
	case s != Running:
		return ""
	case healthy != nil:
		return ReasonHealth
	case reason == ReasonDeviceUnwell || reason == ReasonDeviceWell:
		return ReasonDeviceUnwell
	case reason == ReasonDeviceMemory:
		return ReasonDeviceMemory
	}
	return ""
}

// Why says in a few words how a task ended; "" of one that finished and said
// nothing.
func (s *Status) Why() string {
	switch {
	case s.Message != "":
		return s.Message
	case s.Signal != "":
		return "ended by " + s.Signal
	case s.State == Finished:
		return ""
	case s.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *s.ExitCode)
	}
	return s.Reason
}

// What a status may say, in bytes; see [Status.Cut].
const (
	MaxStatusMessage = 4 << 10
	MaxStatusWord    = 256  // its reason, signal and address
	MaxUpdateID      = 256  // which can't be cut
	maxStatusDevices = 4096 // of all classes together
)

// Cut brings what an agent says within those bounds: an ellipsis stands where a
// text was cut off, and a list of devices that is too long is left out. For no text
// is a status refused, since the end of its task would never be known.
func (s *Status) Cut() {
	message, reason, signal, address := s.Message, s.Reason, s.Signal, s.Address
	cut(&s.Message, MaxStatusMessage)
	cut(&s.Reason, MaxStatusWord)
	cut(&s.Signal, MaxStatusWord)
	cut(&s.Address, MaxStatusWord)
	devices := 0
	for _, grants := range s.Devices {
		devices += 1 + len(grants)
		for i := range grants {
			devices += len(grants[i].ID) / MaxStatusWord
		}
	}
	if devices > maxStatusDevices {
		s.Devices = nil
	}
	if len(s.Message) < len(message) || len(s.Reason) < len(reason) || len(s.Signal) < len(signal) || len(s.Address) < len(address) {
		// They may share the memory of what was cut off.
		s.Task, s.UpdateID = TaskID(strings.Clone(string(s.Task))), UpdateID(strings.Clone(string(s.UpdateID)))
	}
}

// cut leaves no more than that many bytes of a text, in memory of its own.
func cut(text *string, most int) {
	const mark = "…"
	if len(*text) > most {
		*text = strings.ToValidUTF8((*text)[:most-len(mark)], "") + mark
	}
}

// Validate refuses reports without a task or of an unknown state.
func (s *Status) Validate() error {
	if err := s.Task.Validate(); err != nil {
		return err
	}
	if !s.State.Known() {
		return fmt.Errorf("task %s: state %q is unknown", s.Task, clip(string(s.State)))
	}
	return nil
}
