package wire

import (
	"bytes"
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/scan"
)

// tooLong refuses a message in JSON whose list is longer than its kind may be. An
// element can take a hundred times the memory of its text, so they are counted
// before the first is made. What is no message of that kind is left to the decoder.
func tooLong(m Message, frame []byte) error {
	var lists struct {
		Statuses length `json:"statuses"`
		Tasks    length `json:"tasks"`
		Register struct {
			Tasks length `json:"tasks"`
		} `json:"register"`
	}
	most, what := 0, ""
	switch m.(type) {
	case *Statuses:
		most, what = MaxStatuses, "statuses"
	case *RegisterAgent, *AgentTasks:
		most, what = MaxListed, "tasks"
	default:
		return nil
	}
	if bytes.Count(frame, []byte{','}) < most || json.Unmarshal(frame, &lists) != nil {
		return nil
	}
	n := lists.Statuses
	if what == "tasks" {
		n = lists.Tasks + lists.Register.Tasks
	}
	if int(n) <= most {
		return nil
	}
	return offers.Errorf(offers.TooLarge, "%s: %d %s; a message has at most %d", m.Type(), n, what, most)
}

// length is how many elements a list has; where its field comes twice, the longer
// one.
type length int

func (l *length) UnmarshalJSON(list []byte) error {
	n, s := 0, scan.Over(list)
	for more := s.Next('['); more; more = s.Next(',') {
		if _, some := s.Value(); some {
			n++
		}
	}
	*l = max(*l, length(n))
	return nil
}
