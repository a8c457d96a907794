package master

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFullDiskEndsTheDaemon: a master that can't write ends with one sentence
// that says so, and serves nobody any more.
func TestFullDiskEndsTheDaemon(t *testing.T) {
	c := masterConfig(t, "m1")
	if err := syscall.Mount("tmpfs", c.DataDir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system can't be mounted (root is needed): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(c.DataDir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	m := runMaster(t, c)
	<-m.Ready()
	f, err := os.Create(filepath.Join(c.DataDir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	for n, full := 0, false; !full; n++ { // orders until one does not fit
		req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("http://%s/v1/roles/r%d", m.Address(), n), strings.NewReader(`{"weight": 2}`))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
		select {
		case <-m.replica.Failed():
			full = true
		default:
		}
		if n > 10_000 {
			t.Fatal("the disk never fills up")
		}
	}
	select {
	case err := <-m.done:
		if err == nil || !strings.Contains(err.Error(), "no space left") || strings.Contains(err.Error(), "\n") {
			t.Errorf("it ended with %v", err)
		}
		m.done <- nil // for the clean-up
	case <-time.After(20 * time.Second):
		t.Fatal("it can't write, and goes on")
	}
	if _, err := statusAt(m.Address()); err == nil {
		t.Error("it serves on")
	}
}
