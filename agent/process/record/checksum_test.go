package record

import (
	"hash/crc32"
	"testing"
)

// FuzzChecksum: it is the library's, in one piece and in two.
func FuzzChecksum(f *testing.F) {
	f.Add([]byte("f1:t1/exit/"), []byte(`{"code":7}`))
	f.Add([]byte{}, []byte{0xff})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		want := crc32.Checksum(append(one[:len(one):len(one)], two...), crc32.MakeTable(crc32.Castagnoli))
		if got := checksum(checksum(0, one), two); got != want {
			t.Errorf("%08x, want %08x", got, want)
		}
	})
}
