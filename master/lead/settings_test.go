package lead_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/master/lead"
	"github.com/ringmaster-project/ringmaster/rings"
)

// TestKindsThatNobodyHasAreNoted: a kind of the settings that no agent has may
// be mistyped. It is said when agents come, once, and by the next leader again.
func TestKindsThatNobodyHasAreNoted(t *testing.T) {
	l := newScene(t)
	l.config.Match.Exclude = []string{"cpus", "npu"}
	l.config.Match.Rings = map[string]rings.Layout{"gpu.slice": {Bounds: []int64{0}, Reach: 1}}
	l.succeed()
	said := func() string {
		list := slices.DeleteFunc(l.notes, func(n lead.Note) bool { return !strings.HasPrefix(n.Text, "the settings") })
		l.notes = nil
		return fmt.Sprint(list)
	}
	l.commit()
	if got := said(); got != "[]" {
		t.Errorf("before there are agents it is noted: %s", got)
	}
	l.host("a", "")
	if got, want := said(), "[{the settings name kinds that no agent that is known has [kinds gpu,npu]}]"; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
	l.host("b", "")
	if got := said(); got != "[]" {
		t.Errorf("it is noted again: %s", got)
	}
	l.succeed()
	l.commit()
	if got, want := said(), "[{the settings name kinds that no agent that is known has [kinds gpu,npu]}]"; got != want {
		t.Errorf("the next leader notes %s, want %s", got, want)
	}
}
