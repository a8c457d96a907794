package checkpoint

import (
	"testing"

	"github.com/ringmaster-project/ringmaster/offers/pages"
)

// FuzzDecode: whatever lies in a record, reading it ends with a value or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("f\x00t"), []byte{0xa0})
	f.Add([]byte("f\x00t"), []byte{0xa1, 0x01, 0x42, '{', '}'})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r := reader{}
		_ = r.readMeta(key, value)
		if l, err := decodeLaunch(value); err == nil {
			if _, err := encodeLaunch(l); err != nil {
				t.Errorf("what was read can't be written: %v", err)
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
