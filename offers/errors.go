package offers

import "fmt"

// Code is a stable word for what went wrong, the same on every transport.
type Code string

// The codes a client can meet. They are part of the public interface.
const (
	BadMessage       Code = "bad_message"
	UnknownType      Code = "unknown_type"
	NotRegistered    Code = "not_registered"
	FailedOver       Code = "failed_over"
	UnknownFramework Code = "unknown_framework"
	UnknownAgent     Code = "unknown_agent" // agents only: the id they registered with is unknown or gone
	AgentAway        Code = "agent_away"    // what is asked of one that is unreachable
	FrameworkRemoved Code = "framework_removed"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	BadResources     Code = "bad_resources"
	BadDemand        Code = "bad_demand"
	BadTask          Code = "bad_task"
	OfferGone        Code = "offer_gone"
	MixedAgents      Code = "mixed_agents"
	TaskIDInUse      Code = "task_id_in_use"
	TaskNotRunning   Code = "task_not_running" // exec only
	UnknownTask      Code = "unknown_task"
	UnknownJob       Code = "unknown_job" // the jobs framework only
	JobRunning       Code = "job_running" // the jobs framework only: it has to end first
	VersionConflict  Code = "version_conflict"
	TooLarge         Code = "too_large"
	RateLimited      Code = "rate_limited"
	NotLeader        Code = "not_leader"
	Unavailable      Code = "unavailable"
	Undecided        Code = "undecided" // HTTP only: whether the order was carried out is not known
	Internal         Code = "internal"
)

// Error is a failure that a client is told: a stable code and one sentence
// that names the field or the id. It is safe to share between goroutines.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, &Error{Code: OfferGone}) asks for the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// Errorf builds an [Error].
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
