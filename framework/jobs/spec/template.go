package spec

import (
	"fmt"
	"slices"
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
		if n, isPort := w.Resources.Port(name); isPort && n >= 0 {
			if ports := w.Resources.AnyPorts + w.Resources.Ports.Count(); n >= ports {
				return "", fmt.Errorf("{{%s}}: resources.ports names %d", name, ports)
			}
			return "", nil
		}
		if name == "item" && w.Each == nil {
			return "", fmt.Errorf("{{item}} needs each, a list of items")
		}
		known := slices.Clone(templateNames)
		for _, port := range w.Resources.PortNames {
			known = append(known, "port."+port)
		}
		if slices.Contains(known, name) {
			return "", nil
		}
		if meant := spell.Nearest(name, known); meant != "" {
			return "", fmt.Errorf("there is no {{%.40s}}; did you mean {{%s}}? {{{{ stands for {{", name, meant)
		}
		return "", fmt.Errorf("there is no {{%.40s}}; known are %s; {{{{ stands for {{", name, strings.Join(known, ", "))
	})
	return err
}
