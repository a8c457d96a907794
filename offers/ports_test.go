package offers_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// portMap is the naive model of a set of ports.
type portMap map[uint16]bool

func modelOf(ranges ...offers.PortRange) portMap {
	m := portMap{}
	for _, r := range ranges {
		for n := int(r.First); n <= int(r.Last); n++ {
			m[uint16(n)] = true
		}
	}
	return m
}

// checkPorts holds p against the model and against its own invariant.
func checkPorts(t rapid.TB, what string, p offers.Ports, want portMap) {
	t.Helper()
	for i, r := range p {
		if r.First > r.Last || i > 0 && int(r.First) <= int(p[i-1].Last)+1 {
			t.Fatalf("%s: %v is not ascending ranges that neither touch nor overlap", what, p)
		}
	}
	each := p.Each()
	if len(each) != len(want) || !slices.IsSorted(each) {
		t.Fatalf("%s: %v has %d ports, the model %d", what, p, len(each), len(want))
	}
	for _, n := range each {
		if !want[n] {
			t.Fatalf("%s: %v has %d, the model has not", what, p, n)
		}
	}
}

func randomRanges(r *rand.Rand, base, span int) []offers.PortRange {
	out := make([]offers.PortRange, r.IntN(6))
	for i := range out {
		first := base + r.IntN(span)
		out[i] = offers.PortRange{First: uint16(first), Last: uint16(min(65535, first+r.IntN(6)))}
	}
	return out
}

// The sets are held against a map of ports, around both ends of the number
// range, where arithmetic in 16 bits would wrap.
func TestPortsAgainstModel(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := []int{1, 31000, 65535 - 24}[r.IntN(3)]
		a, b := randomRanges(r, base, 24), randomRanges(r, base, 24)
		p, q := offers.MakePorts(a...), offers.MakePorts(b...)
		ma, mb := modelOf(a...), modelOf(b...)
		before := slices.Clone(p)
		checkPorts(t, "make", p, ma)
		checkPorts(t, "plus", p.Plus(q), modelOf(append(slices.Clone(a), b...)...))
		rest, inside := portMap{}, true
		for n := range ma {
			if !mb[n] {
				rest[n], inside = true, false
			}
		}
		checkPorts(t, "minus", p.Minus(q), rest)
		after, n := uint16(base+r.IntN(24)), r.IntN(8)
		if p.Count() != len(ma) {
			t.Fatalf("%v has %d ports, the model %d", p, p.Count(), len(ma))
		}
		next := portMap{}
		for port := int(after) + 1; len(next) < min(n, len(ma)); port++ {
			if at := uint16(port % 65536); ma[at] {
				next[at] = true
			}
		}
		checkPorts(t, "next", p.Next(after, n), next)
		if p.Within(q) != inside {
			t.Fatalf("seed %d: %v within %v is %v, the model says %v", seed, p, q, p.Within(q), inside)
		}
		if !slices.Equal(before, p) {
			t.Fatalf("seed %d: an operation changed its operand", seed)
		}
	}
}

func TestPortsWholeRange(t *testing.T) {
	all := offers.MakePorts(offers.PortRange{First: 1, Last: 65535})
	if n := len(all.Each()); n != 65535 {
		t.Errorf("1 to 65535 are %d ports", n)
	}
	if got := all.Minus(all); len(got) != 0 {
		t.Errorf("everything without everything is %v", got)
	}
	if got := all.Minus(offers.MakePorts(offers.PortRange{First: 65535, Last: 65535})); len(got) != 1 || got[0].Last != 65534 {
		t.Errorf("without the last port: %v", got)
	}
	if !offers.Ports(nil).Within(nil) || all.Within(nil) {
		t.Error("the empty set holds nothing and is in everything")
	}
}

func FuzzPorts(f *testing.F) {
	for _, seed := range []string{`[31000]`, `["1-65535"]`, `[5,"6-7",9]`, `[]`, `[0]`, `["65535-65535","1"]`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p offers.Ports
		if p.UnmarshalJSON(data) != nil {
			return
		}
		checkPorts(t, "read", p, modelOf(p...))
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back offers.Ports
		if err := back.UnmarshalJSON(out); err != nil || !slices.Equal(p, back) {
			t.Fatalf("%v comes back from %s as %v (%v)", p, out, back, err)
		}
	})
}

// TestAnyPortsJSON: a demand may ask for a number of ports; a task names its own.
func TestAnyPortsJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"ports":2}`:                       `{"ports":2}`,
		`{"cpus":1,"ports":0}`:              `{"cpus":1}`,
		`{"cpus":1,"ports":1000,"mem":"1"}`: `{"cpus":1,"mem":1,"ports":1000}`,
		`{"ports":[7]}`:                     `{"ports":[7]}`,
		`{"ports":-1}`:                      "ports: -1 is not from 1 to 1000",
		`{"ports":1001}`:                    "ports: 1001 is not from 1 to 1000",
		`{"ports":1.5}`:                     "ports is not a list of ports",
		`{"ports":"2"}`:                     "ports is not a list of ports",
	} {
		var r offers.Resources
		got, err := []byte(nil), json.Unmarshal([]byte(text), &r)
		if err != nil {
			got = []byte(err.Error())
		} else if got, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	task := offers.Task{ID: "t", Resources: offers.Resources{AnyPorts: 2}, Command: &offers.Command{Shell: "x"}}
	if err := task.Validate(); err == nil || err.Error() != "task t: resources.ports is 2; a demand asks for a number of ports, and a task names those of its offer that it takes" {
		t.Errorf("a task with a number of ports: %v", err)
	}
	both := offers.Resources{AnyPorts: 2, Ports: offers.MakePorts(offers.PortRange{First: 1, Last: 1})}
	if both.Validate() == nil {
		t.Error("ports by name and by number are taken together")
	}
}
