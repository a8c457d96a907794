package replica

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/ringmaster-project/ringmaster/offers/door"
)

// TestSeekerSaysWhyItIsNotHeard holds that a master without the cluster's
// token says so, once, instead of waiting in silence.
func TestSeekerSaysWhyItIsNotHeard(t *testing.T) {
	locked := config(t, "m1")
	var err error
	if locked.Door, err = door.Open(door.Config{Token: "sesame"}); err != nil {
		t.Fatal(err)
	}
	at := start(t, locked).self.Raft
	c, said := config(t, "m2"), &lines{}
	c.BootstrapExpect, c.Join = 3, []string{at, nobody}
	c.Logger = hclog.New(&hclog.LoggerOptions{Output: said})
	r := start(t, c)
	for range 3 {
		r.survey()
	}
	if text := said.String(); strings.Count(text, "needs the cluster's token") != 1 || strings.Count(text, "nobody listens there yet") != 1 {
		t.Errorf("it said:\n%s", text)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
