package offers_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// FuzzAmountTexts: what people write as an amount or a time is refused or in
// range, and reads the same when it is written in its plainest form.
func FuzzAmountTexts(f *testing.F) {
	for _, text := range []string{"1.5", "0.0005", "512MiB", "1e3", "9PB", "1Gbps", "1h30m", "90", "-1", "NaN", "0x10", "9223372036854775807", "1_000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := func(what string, n int64, err error) bool {
			if err == nil && (n < 0 || n > offers.MaxAmount) {
				t.Fatalf("%s %q is read as %d", what, text, n)
			}
			return err == nil
		}
		for _, s := range []offers.Scalar{offers.CPUs, offers.Mem, offers.Disk, offers.Bandwidth} {
			n, err := offers.ParseScalar(s, text)
			plain := strconv.FormatInt(n, 10)
			if s == offers.CPUs {
				plain = offers.FormatCPUs(n)
			}
			if in(s.String(), n, err) {
				if again, err := offers.ParseScalar(s, plain); err != nil || again != n {
					t.Fatalf("%s %q is %d, and %q is %d, %v", s, text, n, plain, again, err)
				}
			}
			quota, qerr := offers.ParseQuota(s.String(), text)
			if quota != n && err == nil || (err == nil) != (qerr == nil) {
				t.Fatalf("%s %q is %d, %v and as a quota %d, %v", s, text, n, err, quota, qerr)
			}
		}
		n, err := offers.ParseQuota("gpu", text)
		in("gpu quota", n, err)
		n, err = offers.ParseSize(text)
		in("size", n, err)
		if d, err := offers.ParseDuration(text); err == nil {
			if again, err := offers.ParseDuration(d.String()); d < 0 || err != nil || again != d {
				t.Fatalf("the duration %q is %s, which is read as %s, %v", text, d, again, err)
			}
		}
	})
}

// roundTrip holds that what was accepted is valid and comes back as it was
// written.
func roundTrip[T any](t *testing.T, data []byte, valid func(T) error) {
	var v, back T
	if json.Unmarshal(data, &v) != nil {
		return
	}
	if err := valid(v); err != nil {
		t.Fatalf("%s is accepted and not valid: %v", data, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%s is accepted and can't be written: %v", data, err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%s is written as %s, which is refused: %v", data, text, err)
	}
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, text) {
		t.Fatalf("%s is written as %s, then as %s, %v", data, text, again, err)
	}
}

// FuzzInventory is what an agent says that it has.
func FuzzInventory(f *testing.F) {
	text, err := json.Marshal(testInventory())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"cpus":1,"devices":{"gpu":{"ids":["a","a"],"capacity":[1,1],"attributes":[{"k":"v"},null]}}}`))
	f.Add([]byte(`{"ports":["1-65535"],"devices":{"gpu":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, data, func(v offers.Inventory) error {
			if err := v.Validate(); err != nil {
				return err
			}
			room := offers.NewRoom(v) // it must be countable, to the last byte
			if err := room.Take(room.Rest()); err != nil {
				return err
			}
			for _, c := range room.Classes() {
				checkPacked(t, &c)
			}
			return nil
		})
	})
}

// FuzzHolding is what masters and agents tell each other of a claim. Whether
// it fits is for the room to say, which must not be shaken by any.
func FuzzHolding(f *testing.F) {
	text, err := json.Marshal(offers.NewRoom(testInventory()).Rest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"amounts":{"cpus":1},"devices":{"gpu":[{"id":"g0","index":0,"memory":24,"share":0.5},{"id":"g0","memory":1}]}}`))
	f.Add([]byte(`{"amounts":{"mem":9007199254740991},"ports":[100,"101-103"],"devices":{"gpu":[null]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, data, func(h offers.Holding) error {
			room, m := offers.NewRoom(testInventory()), &modelRoom{total: testInventory()}
			if m.free(h) {
				m.take(t, room, h)
			} else if err := room.Take(h); err == nil {
				t.Fatalf("%s does not fit and is taken", data)
			}
			m.check(t, room, true)
			return nil
		})
	})
}

// FuzzRole: a role that is accepted is the sum of its parts.
func FuzzRole(f *testing.F) {
	f.Add("eng/ml", "eng")
	f.Add("a/b/c/d/e/f/g/h/i", "")
	f.Add("eng/../ops", "eng/..")
	f.Fuzz(func(t *testing.T, a, b string) {
		role, other := offers.Role(a), offers.Role(b)
		if strings.Join(role.Parts(), "/") != a {
			t.Fatalf("%q falls into %q", a, role.Parts())
		}
		if role.Validate() != nil || other.Validate() != nil {
			return
		}
		n := len(other.Parts())
		under := len(role.Parts()) >= n && reflect.DeepEqual(role.Parts()[:n], other.Parts())
		if role.Under(other) != under {
			t.Fatalf("%q under %q: %v", a, b, role.Under(other))
		}
	})
}

// FuzzTaskID: an id that is accepted is one plain name in a path and in a URL.
func FuzzTaskID(f *testing.F) {
	for _, id := range []string{"t1", "..", ".", "a/b", "a%2fb", "a\x00", strings.Repeat("x", 129)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if offers.TaskID(id).Validate() != nil {
			return
		}
		u, err := url.Parse("/a/" + id + "/b")
		if err != nil || u.Path != "/a/"+id+"/b" || path.Join("a", id) != "a/"+id || !filepath.IsLocal(id) || len(id) > 128 {
			t.Fatalf("%q is a task's id", id)
		}
	})
}
