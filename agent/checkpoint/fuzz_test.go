package checkpoint

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
	"github.com/ringmaster-project/ringmaster/agent/tasks"
	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/pages"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// FuzzDecode: whatever lies in a record, reading it ends with a value or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("f\x00t"), []byte{0xa0})
	f.Add([]byte("f\x00t"), []byte{0xa1, 0x01, 0x42, '{', '}'})
	launched, err := encodeLaunch(tasks.Launch{LaunchTask: wire.LaunchTask{Framework: "f", Task: offers.Task{ID: "t", MaxRuntime: 7e9}}, Accepted: time.Unix(1000, 5).UTC()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("f\x00t"), launched)
	progress, err := encode(tasks.Progress{
		State: offers.Running, Process: &record.Identity{PID: 7}, Kill: &tasks.KillOrder{Grace: 5}, Serial: 1,
		Reports: []tasks.Report{{ID: "u", State: offers.Running, Time: time.Unix(1000, 5).UTC()}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("f\x00t"), progress)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r := reader{}
		if err := r.readMeta(key, value); err == nil {
			again, err := encode(r.meta)
			if err != nil {
				t.Fatalf("what was read can't be written: %v", err)
			}
			was := *r.meta
			if err := r.readMeta(key, again); err != nil || !same(t, *r.meta, again) {
				t.Errorf("%+v comes back as %+v, %v", was, *r.meta, err)
			}
		}
		if l, err := decodeLaunch(value); err == nil {
			again, err := encodeLaunch(l)
			if err != nil {
				t.Fatalf("what was read can't be written: %v", err)
			}
			if back, err := decodeLaunch(again); err != nil || !reflect.DeepEqual(back, l) {
				t.Errorf("%+v comes back as %+v, %v", l, back, err)
			}
		}
		p := reader{progress: map[offers.TaskRef]tasks.Progress{}}
		if err := p.readProgress([]byte("f\x00t"), value); err == nil {
			for ref, was := range p.progress {
				again, err := encode(was)
				if err != nil {
					t.Fatalf("what was read can't be written: %v", err)
				}
				if err := p.readProgress(keyOf(ref), again); err != nil || !same(t, p.progress[ref], again) {
					t.Errorf("%+v comes back as %+v, %v", was, p.progress[ref], err)
				}
			}
		}
		if ref, err := refOf(key); err == nil && string(keyOf(ref)) != string(key) {
			t.Errorf("key %q came back as %q", key, keyOf(ref))
		}
		if sealed := pages.Seal(launchBucket, key, value); len(sealed) > 0 {
			if _, err := pages.Unseal(progressBucket, key, sealed); err == nil {
				t.Error("a record of another bucket was taken")
			}
		}
	})
}

// same reports whether v is written as text was. Values are not compared: one
// moment reads back in another zone.
func same(t *testing.T, v any, text []byte) bool {
	t.Helper()
	again, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(again, text)
}
