package lead

import "slices"

// Standing is how far a connection has come.
type Standing int

// How far that is.
const (
	Stranger Standing = iota // nobody has registered on it
	Entering                 // somebody has, and that is not committed yet
	Known                    // somebody is registered, or the connection is over
)

var standings = [...]string{Stranger: "stranger", Entering: "entering", Known: "known"}

func (s Standing) String() string { return standings[s] }

// Standing returns how far the connection has come.
func (s *Framework) Standing(c *Core) Standing {
	switch {
	case s.id != "" || s.ended:
		return Known
	case slices.Contains(c.entering, s):
		return Entering
	}
	return Stranger
}

// Standing returns how far the connection has come.
func (s *Agent) Standing() Standing {
	switch {
	case s.id != "" || s.ended:
		return Known
	case s.asked:
		return Entering
	}
	return Stranger
}
