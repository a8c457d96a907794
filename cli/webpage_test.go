package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringmaster-project/ringmaster/cli"
)

// fleet adds simulated agents to a cluster until the test ends.
func fleet(t *testing.T, at string, args ...string) {
	t.Helper()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cli.Main(t.Context(), append([]string{"ringmaster", "bench", "agents", "--masters", at}, args...), strings.NewReader(""), in, io.Discard)
	}()
	ready := make([]byte, len("ready "))
	if _, err := io.ReadFull(out, ready); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the pipe
	t.Cleanup(func() { <-ended; in.Close() })
}

// ringmaster runs a command of its own against a cluster and returns what it printed.
func ringmaster(t *testing.T, at string, args ...string) string {
	t.Helper()
	cmd := exec.Command("ringmaster", args...)
	cmd.Env = append(os.Environ(), "RINGMASTER_MASTERS="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ringmaster %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestWebPage clicks through every view of the page of a real cluster.
func TestWebPage(t *testing.T) {
	needShim(t)
	b := newBrowser(t)
	at := addresses(t, 1)[0]
	dev := launch(t, t.TempDir(), "dev", "dev", "--http", at, "--resources", "cpus=8,mem=16GiB,disk=100GiB,gpu=4x24GiB")
	dev.await(t)
	fleet(t, at, "--count", "40", "--resources", "cpus=16,mem=64GiB,disk=1TiB", "--task-time", "10m", "--name", "sim")
	b.do(chromedp.Navigate("http://" + at + "/"))
	b.await(`document.querySelector("#connection").textContent === "live"`)
	b.await(`document.querySelectorAll("figure.rings canvas").length === 5`)
	b.shows("41 agents")
	ringmaster(t, at, "run", "--detach", "--gpu-mem", "10GiB", "--cpus", "6", "--name", "slice", "--", "sleep", "600")
	b.shows("launched on")
	b.pictures("overview")
	b.healthy()
}
