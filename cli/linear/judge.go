package linear

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Models are the names of what is judged, in the order of the report.
var Models = []string{"tokens", "sessions", "store"}

// part is a history that can be judged on its own.
type part struct {
	model string
	name  string // of the offer, the framework, or the framework and the prefix
	rules porcupine.Model
	ops   []*Op
}

// Tally is what was judged of one model.
type Tally struct {
	Model     string
	Parts     int
	Ops       int
	Unknown   int // operations without answer
	Undecided int // parts that took too long to judge
	Took      time.Duration
}

// Violation is a part of the history that no order explains.
type Violation struct {
	Model string
	Part  string
	Ops   []*Op  // all of the part, by time
	Page  string // a file that draws it, or why there is none
}

// Text tells the violation in one line.
func (v *Violation) Text() string {
	return fmt.Sprintf("%s %s: no order of its %d operations explains their answers; drawn in %s", v.Model, v.Part, len(v.Ops), v.Page)
}

// Config says how to judge.
type Config struct {
	Launched func(offers.TaskRef) bool // tasks that are durable, or ran
	Patience time.Duration             // for one part; 0 means for ever
	Folder   string                    // for drawings of violations; "": none are made
	Skew     time.Duration             // how far the masters' clocks may be from that of the history
}

// Judge looks for an order of the operations that the models allow.
func Judge(ops []*Op, c Config) ([]Tally, []Violation) {
	parts := slices.Concat(tokensOf(ops, c), sessionsOf(ops, int64(c.Skew)), storesOf(ops))
	tallies := map[string]*Tally{}
	for _, name := range Models {
		tallies[name] = &Tally{Model: name}
	}
	var bad []Violation
	for _, p := range parts {
		t, began := tallies[p.model], time.Now()
		result, info := porcupine.CheckOperationsVerbose(p.rules, p.operations(), c.Patience)
		t.Took += time.Since(began)
		t.Parts++
		t.Ops += len(p.ops)
		for _, o := range p.ops {
			if o.Outcome == Unknown {
				t.Unknown++
			}
		}
		switch result {
		case porcupine.Unknown:
			t.Undecided++
		case porcupine.Illegal:
			bad = append(bad, p.violation(info, c.Folder))
		}
	}
	out := make([]Tally, 0, len(Models))
	for _, name := range Models {
		out = append(out, *tallies[name])
	}
	return out, bad
}

func (p *part) operations() []porcupine.Operation {
	out := make([]porcupine.Operation, len(p.ops))
	for i, o := range p.ops {
		out[i] = porcupine.Operation{ClientId: o.Conn, Input: o, Call: o.Call, Return: o.end()}
	}
	return out
}

func (p *part) violation(info porcupine.LinearizationInfo, folder string) Violation {
	v := Violation{Model: p.model, Part: p.name, Ops: slices.Clone(p.ops)}
	slices.SortFunc(v.Ops, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	if folder == "" {
		v.Page = "no file"
		return v
	}
	v.Page = filepath.Join(folder, strings.NewReplacer(" ", "-", "/", "-").Replace(p.model+"-"+p.name)+".html")
	if err := porcupine.VisualizePath(p.rules, info, v.Page); err != nil {
		v.Page = fmt.Sprintf("no file: %v", err)
	}
	return v
}
