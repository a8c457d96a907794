package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringmaster-project/ringmaster/master/state"
)

// FuzzEntry applies anything as an entry of the log, a restore too. Either it
// is refused as a whole, with the panic that ends a master, or the state after
// it is sound.
func FuzzEntry(f *testing.F) {
	cluster := state.Command{Init: &state.Init{ClusterID: "c0de"}}
	entry, err := encodeEntry(3, []state.Command{cluster})
	if err != nil {
		f.Fatal(err)
	}
	s, _ := state.New().Apply([]state.Command{cluster, setRole("r", 2)})
	restore, err := encodeRestore(0, s, time.Unix(1000, 0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(entry, uint64(3))
	f.Add(entry, uint64(4))
	f.Add(restore, uint64(1))
	f.Add(append(binary.BigEndian.AppendUint64(nil, 0), restoreMark), uint64(1))
	f.Add(restore[:len(restore)-1], uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, term uint64) {
		m := newFSM(nil, hclog.NewNullLogger())
		before := m.current.Load()
		defer func() {
			if p := recover(); p != nil {
				if !strings.Contains(fmt.Sprint(p), "can't be read") {
					panic(p)
				}
				if m.current.Load() != before {
					t.Fatal("an entry that can't be read changed the state")
				}
			}
		}()
		m.Apply(&raft.Log{Index: 7, Term: term, Data: data})
		var saved bytes.Buffer
		if _, err := m.current.Load().WriteTo(&saved); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Read(&saved); err != nil {
			t.Fatalf("the state after it can't be read: %v", err)
		}
	})
}

// FuzzIdentity: a data folder belongs to the master that made it or to none.
func FuzzIdentity(f *testing.F) {
	dir := f.TempDir()
	made, _, err := openIdentity(dir, "m1", "")
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(dir, "identity.json")
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"id":"m1@00ff","name":"m1"}`))
	f.Add([]byte(`{"ID":"@","Name":""}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if id, _, err := openIdentity(dir, "m1", ""); err == nil && id != made {
			t.Fatalf("%s is taken as %+v, the store is of %+v", data, id, made)
		}
	})
}
