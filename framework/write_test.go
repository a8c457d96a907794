package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/ringmaster-project/ringmaster/framework"
	"github.com/ringmaster-project/ringmaster/framework/frameworktest"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestWriteKeepsItsOrder breaks the connection after each number of changes:
// those before are made, and none behind.
func TestWriteKeepsItsOrder(t *testing.T) {
	const all = 8
	for made := range all + 1 {
		puts := 0
		cluster := &frameworktest.Cluster{}
		cluster.Break = func(m wire.Message, answered bool) bool {
			if r, ok := m.(*wire.StateRequest); ok && r.Op == "put" && !answered {
				puts++
				return puts == made+1
			}
			return false
		}
		client, done := atCluster(t, cluster)
		var changes []framework.Change
		for n := range all {
			changes = append(changes, framework.Change{Key: fmt.Sprint(n), Value: json.RawMessage("1")})
		}
		versions, err := client.Write(t.Context(), changes...)
		if (err == nil) != (made == all) || err != nil && !errors.Is(err, framework.ErrAnswerLost) {
			t.Errorf("%d made: %v %v", made, versions, err)
		}
		keys, err := client.List(t.Context(), "")
		if err != nil || len(keys) != made {
			t.Errorf("%d made: there are %v, %v", made, keys, err)
		}
		done()
	}
}

// TestWriteTellsWhatWasRefused: a change that is refused does not stop others.
func TestWriteTellsWhatWasRefused(t *testing.T) {
	client, done := atCluster(t, &frameworktest.Cluster{})
	defer done()
	wrong := uint64(7)
	versions, err := client.Write(t.Context(),
		framework.Change{Key: "a", Value: json.RawMessage("1")}, framework.Change{Key: "b", Value: json.RawMessage("1"), Version: &wrong},
		framework.Change{Key: "a"}, framework.Change{Key: "c", Value: json.RawMessage("1")})
	if !errors.Is(err, &offers.Error{Code: offers.VersionConflict}) || versions[0] == 0 || versions[3] == 0 {
		t.Errorf("%v %v", versions, err)
	}
	if keys, err := client.List(t.Context(), ""); err != nil || len(keys) != 1 || keys[0] != "c" {
		t.Errorf("there are %v, %v", keys, err)
	}
}

// TestListOfAPrefix: only keys that begin with it come.
func TestListOfAPrefix(t *testing.T) {
	client, done := atCluster(t, &frameworktest.Cluster{})
	defer done()
	for _, key := range []string{"jobs/b", "leases/a", "jobs/a", "job"} {
		if _, err := client.Put(t.Context(), key, json.RawMessage("1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"": "[job jobs/a jobs/b leases/a]", "jobs/": "[jobs/a jobs/b]", "none": "[]"} {
		if keys, err := client.List(t.Context(), prefix); err != nil || fmt.Sprint(keys) != want {
			t.Errorf("%q: %v, %v; want %s", prefix, keys, err, want)
		}
	}
}

// atCluster connects a client to a cluster in memory; done ends both.
func atCluster(t *testing.T, cluster *frameworktest.Cluster) (client *framework.Client, done func()) {
	t.Helper()
	served := make(chan struct{}, 100)
	client, err := framework.Connect(t.Context(), framework.Config{
		Masters: []string{"m:1"}, Info: wire.FrameworkInfo{Name: "test"},
		Dial: func(context.Context, string) (wire.Link, error) {
			ours, theirs := wire.Pipe(wire.Options{})
			go func() {
				cluster.Serve(theirs)
				theirs.Close("broken")
				served <- struct{}{}
			}()
			return ours, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		client.Close()
		<-served
	}
}
