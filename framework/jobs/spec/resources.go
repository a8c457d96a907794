package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Resources is what each instance gets. Ports that the cluster chooses may
// have names, in the order of the ports that an instance comes to have.
type Resources struct {
	offers.Resources
	PortNames []string // as many as AnyPorts, or none
}

// MarshalJSON writes what [Resources.UnmarshalJSON] reads.
func (r Resources) MarshalJSON() ([]byte, error) {
	text, err := r.Resources.MarshalJSON()
	if err != nil || r.PortNames == nil {
		return text, err
	}
	var kinds map[string]any
	if err := json.Unmarshal(text, &kinds); err != nil {
		return nil, err
	}
	kinds["ports"] = r.PortNames
	return json.Marshal(kinds)
}

// UnmarshalJSON reads resources as tasks and demands have them, and names in
// the place of a number of ports.
func (r *Resources) UnmarshalJSON(data []byte) error {
	*r = Resources{}
	var kinds map[string]json.RawMessage
	if json.Unmarshal(data, &kinds) == nil && json.Unmarshal(kinds["ports"], &r.PortNames) == nil && named(r.PortNames) {
		if err := validPortNames(r.PortNames); err != nil {
			return fmt.Errorf("ports: %w", err)
		}
		kinds["ports"] = strconv.AppendInt(nil, int64(len(r.PortNames)), 10)
		plain, err := json.Marshal(kinds)
		if err != nil {
			return err
		}
		return r.Resources.UnmarshalJSON(plain)
	}
	r.PortNames = nil
	return r.Resources.UnmarshalJSON(data)
}

// named tells names from ports and ranges of ports that are written as texts.
func named(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Trim(s, "0123456789-") != "" })
}

var portName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

func validPortNames(names []string) error {
	for i, name := range names {
		switch {
		case !portName.MatchString(name):
			return fmt.Errorf("%.60q is neither a port nor a name of one: letters, digits, - and _, at most 32, the first a letter", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("there are two ports %s", name)
		}
	}
	return nil
}

// Port reads the name of a template: port, which is the first, port.N and
// port.NAME. n is -1 for a name that there is not.
func (r *Resources) Port(name string) (n int, isPort bool) {
	if name == "port" {
		return 0, true
	}
	text, isPort := strings.CutPrefix(name, "port.")
	if n = slices.Index(r.PortNames, text); n >= 0 {
		return n, isPort
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n, isPort
	}
	return -1, isPort
}
