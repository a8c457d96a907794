package door

import (
	"errors"
	"net/http"

	"github.com/ringmaster-project/ringmaster/offers"
)

// StatusOf returns the HTTP status of the answer to a request that failed with err: the
// one place where codes become statuses. What has no code is a fault of the server.
func StatusOf(err error) int {
	if errors.Is(err, ErrStill) {
		return http.StatusRequestTimeout
	}
	known := &offers.Error{Code: offers.Internal}
	_ = errors.As(err, &known)
	switch known.Code {
	case offers.Unauthenticated:
		return http.StatusUnauthorized
	case offers.Forbidden:
		return http.StatusForbidden
	case offers.UnknownAgent, offers.UnknownFramework, offers.UnknownTask, offers.UnknownJob:
		return http.StatusNotFound
	case offers.TaskIDInUse, offers.TaskNotRunning, offers.VersionConflict, offers.FrameworkRemoved, offers.JobRunning:
		return http.StatusConflict
	case offers.TooLarge:
		return http.StatusRequestEntityTooLarge
	case offers.RateLimited:
		return http.StatusTooManyRequests
	case offers.AgentAway:
		return http.StatusBadGateway
	case offers.NotLeader, offers.Unavailable, offers.Undecided:
		return http.StatusServiceUnavailable
	case offers.Internal:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}
