package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestWeightCountsWhatCanBeLarge: an entry that passed MaxEntry could not be
// written, and its author would give up to lead; so what others can make large in a
// command counts.
func TestWeightCountsWhatCanBeLarge(t *testing.T) {
	text := strings.Repeat("x", 1000)
	var texts []string
	words, grants := map[string]string{}, make([]offers.Grant, 1000)
	for i := range 100 {
		texts = append(texts, fmt.Sprint(i, text)) // the same again would take nothing
		words[fmt.Sprint(i)] = texts[i]
	}
	for i := range grants {
		grants[i].ID = fmt.Sprint(i, text[:250])
	}
	spec := func(s offers.Task) Command { return Command{Launch: &Launch{Task: TaskRecord{Spec: s}}} }
	device := func(d offers.Device) Command {
		d.ID, d.Capacity = "d", 1
		total := offers.Inventory{Classes: []offers.DeviceClass{{Name: "gpu", Devices: slices.Repeat([]offers.Device{d}, 100)}}}
		return Command{RegisterAgent: &RegisterAgent{Agent: offers.Agent{Total: total}}}
	}
	links := map[string]int{}
	for k := range maps.Keys(words) {
		links[k+text[:900]] = 1
	}
	for what, c := range map[string]Command{
		"value":        {Put: &Put{Value: make([]byte, 1<<20)}},
		"labels":       spec(offers.Task{Labels: words}),
		"argv":         spec(offers.Task{Command: &offers.Command{Argv: texts}}),
		"shell":        spec(offers.Task{Command: &offers.Command{Shell: strings.Join(texts, "")}}),
		"env":          spec(offers.Task{Command: &offers.Command{Env: words}}),
		"entrypoint":   spec(offers.Task{Container: &offers.Container{Entrypoint: texts}}),
		"mounts":       spec(offers.Task{Container: &offers.Container{Mounts: slices.Repeat([]offers.Mount{{Source: text, Target: text}}, 100)}}),
		"artifacts":    spec(offers.Task{Artifacts: slices.Repeat([]offers.Artifact{{URI: text, Dest: text}}, 64)}),
		"health":       spec(offers.Task{Health: &offers.Health{Command: &offers.Command{Argv: texts}}}),
		"message":      {EndTask: &EndTask{Status: offers.Status{Message: text + text}}},
		"grants":       {EndTask: &EndTask{Status: offers.Status{Devices: map[string][]offers.Grant{"gpu": grants}}}},
		"attributes":   {RegisterAgent: &RegisterAgent{Agent: offers.Agent{Attributes: words}}},
		"device":       device(offers.Device{Attributes: map[string]string{"model": text[:256]}}),
		"nodes":        device(offers.Device{Nodes: texts[:8]}),
		"links":        device(offers.Device{Links: links}),
		"capabilities": {RegisterFramework: &RegisterFramework{Capabilities: texts}},
		"words":        {RegisterFramework: &RegisterFramework{Labels: words}},
	} {
		entry, err := Encode([]Command{c})
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Weight(); n < len(entry)/2 || n > 4*len(entry) {
			t.Errorf("%s: a command of %d bytes weighs %d", what, len(entry), n)
		}
	}
}
