package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers/spell"
)

// templateNames are what may stand between {{ and }}.
var templateNames = []string{
	"job", "run", "index", "item", "count", "attempt",
	"agent", "agent.id", "agent.host", "agent.address", "port",
}

// Expand puts the values of names in the place of {{name}}; {{{{ stands for {{.
// The error of value says why there is none.
func Expand(text string, value func(name string) (string, error)) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if rest, literal := strings.CutPrefix(after, "{{"); literal {
			b.WriteString("{{")
			text = rest
			continue
		}
		name, rest, closed := strings.Cut(after, "}}")
		if !closed {
			return "", fmt.Errorf("{{%.40s is not closed by }}; write {{{{ for {{", after)
		}
		v, err := value(strings.TrimSpace(name))
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		text = rest
	}
}

// checkTemplate refuses names that there are not, without their values.
func (w *Work) checkTemplate(text string) error {
	_, err := Expand(text, func(name string) (string, error) {
		if n, isPort := PortNamed(name); isPort {
			if ports := len(w.Resources.Ports.Each()); n >= ports {
				return "", fmt.Errorf("{{%s}}: resources.ports names %d", name, ports)
			}
			return "", nil
		}
		if name == "item" && w.Each == nil {
			return "", fmt.Errorf("{{item}} needs each, a list of items")
		}
		for _, known := range templateNames {
			if name == known {
				return "", nil
			}
		}
		if meant := spell.Nearest(name, templateNames); meant != "" {
			return "", fmt.Errorf("there is no {{%.40s}}; did you mean {{%s}}? {{{{ stands for {{", name, meant)
		}
		return "", fmt.Errorf("there is no {{%.40s}}; known are %s; {{{{ stands for {{", name, strings.Join(templateNames, ", "))
	})
	return err
}

// PortNamed reads port, which is the first, and port.N.
func PortNamed(name string) (n int, ok bool) {
	if name == "port" {
		return 0, true
	}
	text, ok := strings.CutPrefix(name, "port.")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}
