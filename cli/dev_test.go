package cli

import (
	"os"
	"strings"
	"testing"
)

// TestLookAround holds that what dev says to try next can be pasted where dev
// was started, the last line as it is.
func TestLookAround(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	for called, binary := range map[string]string{
		"bin/ringmaster": "bin/ringmaster", "ringmaster": "ringmaster", "/opt/my tools/ringmaster": "ringmaster", "./cli.test": "ringmaster",
	} {
		os.Args = []string{called}
		text := lookAround(defaultMasters, "http://"+defaultMasters)
		if lines := strings.Split(strings.TrimSpace(text), "\n"); lines[len(lines)-1] != "  "+binary+" run -- echo hello" {
			t.Errorf("called as %s it ends with %q", called, lines[len(lines)-1])
		}
		if !strings.Contains(text, "# or http://"+defaultMasters+" in a browser\n") {
			t.Errorf("it does not tell of the web page: %s", text)
		}
	}
}
