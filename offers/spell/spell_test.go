package spell_test

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/spell"
)

func TestNearest(t *testing.T) {
	known := []string{"status", "masters", "agents", "tasks", "run", "role", "roles", "cron", "count", "job", "cert"}
	for word, want := range map[string]string{"statsu": "status", "agent": "agents", "tsks": "tasks", "quux": "", "mas": "masters", "rn": "run", "cuont": "count", "tasksk": "tasks", "rnu": "run", "foo": "", "port": "", "rol": "role"} {
		if got := spell.Nearest(word, known); got != want {
			t.Errorf("nearest to %s is %q, want %q", word, got, want)
		}
	}
}
