package record_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// FuzzRead: whatever lies in a task's folder, reading a record ends with an
// error or with what can be written and read again. The last kind is what a
// shim reads from its gate.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"shim":{"pid":7,"start":99,"boot":"b"},"task":{"pid":8,"start":100,"boot":"b"}}`))
	f.Add([]byte(`{"signal":"SIGKILL","code":0,"oom":true,"time":"2030-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"path":"/bin/sh","args":["sh",null],"env":null,"dir":"/","user":{"uid":1,"gid":1,"groups":[4294967295]}}`))
	f.Add([]byte(`{"code":1e99}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for _, kind := range []any{record.Started{}, record.Exit{}, record.Spec{}} {
			fresh := func() any { return reflect.New(reflect.TypeOf(kind)).Interface() }
			if err := os.WriteFile(filepath.Join(dir, "r"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, back := fresh(), fresh()
			if record.Read(dir, "r", got) != nil {
				continue
			}
			if err := record.Write(dir, "r", got, false); err != nil {
				t.Fatalf("%T %s was read and can't be written: %v", kind, data, err)
			}
			if err := record.Read(dir, "r", back); err != nil {
				t.Fatalf("%T %s was written and can't be read: %v", kind, data, err)
			}
			if !reflect.DeepEqual(got, back) {
				t.Fatalf("%T %s comes back as %+v, then %+v", kind, data, got, back)
			}
		}
	})
}
