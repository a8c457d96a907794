package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReferenceIsOfThisBinary compares REFERENCE.md with what the binary says
// of itself.
func TestReferenceIsOfThisBinary(t *testing.T) {
	says, err := exec.Command("ringmaster", "reference").Output()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(says, have) {
		t.Error("REFERENCE.md is not what this binary says of itself: run make reference")
	}
	for _, part := range []string{
		"| `--offer-timeout TIME` | `offer_timeout` | `RINGMASTER_OFFER_TIMEOUT` | master, dev |", "### ringmaster job run\n", "| `--stay` |",
		"| `ringmaster_pending` | gauge | `kind` |", "| `task_ended` | yes |", "| `GET /v1/tasks/{id}/logs` |",
	} {
		if !strings.Contains(string(says), part) {
			t.Errorf("it lacks %s", part)
		}
	}
}
