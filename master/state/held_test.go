package state

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

// mapped is what [offers.Holding] was while its devices were a map in the
// program too, as logs and snapshots have it.
type mapped struct {
	Amounts offers.Amounts            `json:"amounts"`
	Ports   offers.Ports              `json:"ports,omitempty"`
	Devices map[string][]offers.Grant `json:"devices,omitempty"`
}

// TestHeldForms: what is held is written byte by byte like a map, in CBOR and in
// JSON, and read back from it.
func TestHeldForms(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	cases := []map[string][]offers.Grant{nil, {}, {"gpu": nil}, {"gpu": {}}, {"gpu": {{}}}}
	for range 300 {
		cases = append(cases, anyDevices(rnd))
	}
	for _, byClass := range cases {
		asMap := mapped{Amounts: offers.Amounts{1}, Devices: byClass}
		held := offers.Holding{Amounts: offers.Amounts{1}, Devices: offers.DevicesOf(byClass)}
		for name, form := range map[string]struct {
			write func(any) ([]byte, error)
			read  func([]byte, any) error
		}{
			"CBOR": {encodeOne, decoding.Unmarshal},
			"JSON": {json.Marshal, json.Unmarshal},
		} {
			want, err := form.write(&asMap)
			if err != nil {
				t.Fatal(err)
			}
			got, err := form.write(&held)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s of %+v is\n%x (%v), want\n%x", name, byClass, got, err, want)
			}
			var back offers.Holding
			var backMap mapped
			err, mapErr := form.read(got, &back), form.read(got, &backMap)
			if (err == nil) != (mapErr == nil) || err == nil && !reflect.DeepEqual(back.Devices.Map(), backMap.Devices) {
				t.Fatalf("%s: %x is read as %+v (%v), want %+v (%v)", name, got, back.Devices, err, backMap.Devices, mapErr)
			}
		}
	}
}

func encodeOne(v any) ([]byte, error) {
	var out bytes.Buffer
	err := encoding.MarshalToBuffer(v, &out)
	return out.Bytes(), err
}

// anyDevices draws devices with names and numbers of all lengths.
func anyDevices(rnd *rand.Rand) map[string][]offers.Grant {
	number := func() int64 { return rnd.Int64() >> rnd.IntN(64) * []int64{1, 1, 1, -1}[rnd.IntN(4)] }
	text := func() string {
		out := make([]byte, []int{1, 2, 3, 23, 24, 255, 256, 70_000}[rnd.IntN(8)]>>rnd.IntN(2))
		for i := range out {
			out[i] = byte('a' + rnd.IntN(26))
		}
		return string(out)
	}
	out := map[string][]offers.Grant{}
	for range rnd.IntN(4) {
		grants := make([]offers.Grant, rnd.IntN(30))
		for i := range grants {
			grants[i] = offers.Grant{ID: text(), Index: int(number()), Memory: number(), Share: number()}
		}
		out[text()] = grants
	}
	return out
}

// TestHeldRefused: bytes that are no devices are refused, wherever they break
// off, and what a map refuses too.
func TestHeldRefused(t *testing.T) {
	good, err := offers.OneDevice("gpu", offers.Grant{ID: "g", Index: 300, Memory: math.MaxInt64, Share: 7}).MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{
		"something behind": append(bytes.Clone(good), 0),
		"a class twice":    append([]byte{0xa2}, bytes.Repeat([]byte("\x63gpu\x80"), 2)...),
		"an unknown field": []byte("\xa1\x63gpu\x81\xa1\x61x\x01"),
		"a field twice":    []byte("\xa1\x63gpu\x81\xa2\x65index\x01\x65index\x02"),
		"a list":           {0x80},
		"a long count":     {0xbb, 255, 255, 255, 255, 255, 255, 255, 255},
		"too large":        []byte("\xa1\x63gpu\x81\xa1\x65index\x1b\xff\xff\xff\xff\xff\xff\xff\xff"),
		"no end":           []byte("\xbf\x63gpu\x80\xff"),
	}
	for n := range good {
		bad["cut short"] = good[:n]
		for name, data := range bad {
			var d offers.Devices
			if err := d.UnmarshalCBOR(data); err == nil {
				t.Errorf("%s: %x is read as %+v", name, data, d)
			}
			if err := decoding.Unmarshal(data, new(map[string][]offers.Grant)); err == nil && name != "a field twice" {
				t.Errorf("%s: %x is a map", name, data)
			}
		}
	}
}
