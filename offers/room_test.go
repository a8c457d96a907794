package offers_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func testInventory() offers.Inventory {
	devices := func(prefix string, capacities ...int64) (out []offers.Device) {
		for i, c := range capacities {
			out = append(out, offers.Device{ID: fmt.Sprint(prefix, i), Capacity: c})
		}
		return out
	}
	return offers.Inventory{
		Amounts: offers.Amounts{16000, 64, 100, 10},
		Ports:   offers.MakePorts(offers.PortRange{First: 100, Last: 115}),
		Classes: []offers.DeviceClass{
			{Name: "gpu", Devices: devices("g", 24, 24, 24, 48)},
			{Name: "npu", Devices: devices("n", 7)},
		},
	}
}

func TestRoomTakeRefuses(t *testing.T) {
	grant := func(id string, index int, memory, share int64) offers.Holding {
		return offers.Holding{Devices: offers.OneDevice("gpu", offers.Grant{ID: id, Index: index, Memory: memory, Share: share})}
	}
	twice := grant("g0", 0, 13, 0)
	twice.Devices = twice.Devices.With("gpu", offers.Grant{ID: "g0", Memory: 12})
	room := offers.NewRoom(testInventory())
	before := room.Rest()
	for _, row := range []struct {
		h     offers.Holding
		names string
	}{
		{offers.Holding{Amounts: offers.Amounts{16001}}, "cpus"},
		{offers.Holding{Amounts: offers.Amounts{0, -1}}, "mem"},
		{offers.Holding{Ports: offers.MakePorts(offers.PortRange{First: 115, Last: 116})}, "ports"},
		{offers.Holding{Devices: offers.OneDevice("tpu", offers.Grant{ID: "t0"})}, "tpu"},
		{grant("g0", 0, 25, 0), "gpu"},
		{grant("g0", 0, 1, 1001), "gpu"},
		{grant("g1", 0, 1, 0), "gpu"},
		{grant("g4", 4, 1, 0), "gpu"},
		{grant("g0", -1, 1, 0), "gpu"},
		{twice, "gpu"},
	} {
		wantNamed(t, room.Take(row.h), row.names, row.h)
		if !reflect.DeepEqual(before, room.Rest()) {
			t.Fatalf("%+v was refused and changed the room", row.h)
		}
	}
}

func TestRoomGiveWhatWasNeverTaken(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("giving back what was never taken goes unnoticed")
		}
	}()
	offers.NewRoom(testInventory()).Give(offers.Holding{Amounts: offers.Amounts{1}})
}

func TestRoomClone(t *testing.T) {
	room := offers.NewRoom(testInventory())
	clone := room.Clone()
	if err := clone.Take(room.Rest()); err != nil {
		t.Fatal(err)
	}
	if room.Used() != (offers.Amounts{}) || room.Class("gpu").Idle() != 4 || len(room.FreePorts().Each()) != 16 {
		t.Error("taking from a clone takes from the original")
	}
	if clone.Class("gpu").Idle() != 0 || clone.Class("tpu") != nil || !clone.Rest().Zero() {
		t.Errorf("after taking everything %+v is left", clone.Rest())
	}
}

// An agent that came back smaller than what runs on it has nothing to offer
// in the kinds that are short, and is right again when the tasks are gone.
func TestClaimPastTheInventory(t *testing.T) {
	room := offers.NewRoom(testInventory())
	held := offers.Holding{
		Amounts: offers.Amounts{20000, 8},
		Ports:   offers.MakePorts(offers.PortRange{First: 115, Last: 120}),
		Devices: offers.DevicesOf(map[string][]offers.Grant{
			"gpu": {{ID: "g3", Index: 0, Memory: 500, Share: 1200}, {ID: "lost", Index: 1, Memory: 24}}, // moved; no longer there
			"tpu": {{ID: "t0", Memory: 1}},
		}),
	}
	room.Claim(held)
	if got := room.Short(offers.Resources{Amounts: offers.Amounts{1}}); got != "cpus" {
		t.Errorf("short of %q, want cpus", got)
	}
	if got := room.Short(offers.Resources{Amounts: offers.Amounts{0, 56}}); got != "" {
		t.Errorf("short of %q, want nothing", got)
	}
	rest := room.Rest()
	if rest.Amounts != (offers.Amounts{0, 56, 100, 10}) || len(rest.Ports.Each()) != 15 || len(rest.Devices.Of("gpu")) != 3 {
		t.Errorf("%+v is free", rest)
	}
	if _, unit, err := room.Class("gpu").Packed(); err != nil {
		t.Errorf("the use of devices that are short can't be packed (unit %d): %v", unit, err)
	}
	room.Give(held)
	if got, want := room.Rest(), offers.NewRoom(testInventory()).Rest(); !reflect.DeepEqual(got, want) {
		t.Errorf("after all came back %+v is free", got)
	}
}

// What an offer does not hold is not there for the tasks of its accept.
func TestInside(t *testing.T) {
	total := testInventory()
	h := offers.Holding{
		Amounts: offers.Amounts{2000, 8},
		Ports:   offers.MakePorts(offers.PortRange{First: 100, Last: 101}),
		Devices: offers.DevicesOf(map[string][]offers.Grant{"gpu": {{ID: "g1", Index: 1, Memory: 10, Share: 400}, {ID: "g2", Index: 2, Memory: 24, Share: 1000}}}),
	}
	gpu := func(a offers.DeviceAsk) offers.Resources {
		return offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": a}}
	}
	for _, row := range []struct {
		ask   offers.Resources
		short string
	}{
		{offers.Resources{Amounts: h.Amounts, Ports: h.Ports}, ""},
		{offers.Resources{Amounts: offers.Amounts{2001}}, "cpus"},
		{offers.Resources{Amounts: offers.Amounts{0, 0, 1}}, "disk"},
		{offers.Resources{Ports: offers.MakePorts(offers.PortRange{First: 102, Last: 102})}, "ports"},
		{gpu(offers.DeviceAsk{Count: 1}), ""}, // g2
		{gpu(offers.DeviceAsk{Count: 2}), "gpu"},
		{gpu(offers.DeviceAsk{Count: 2, Memory: 10, Share: 400}), ""},
		{gpu(offers.DeviceAsk{Count: 2, Memory: 11}), "gpu.slice"},
		{gpu(offers.DeviceAsk{Count: 2, Memory: 10, Share: 401}), "gpu.slice"},
		{offers.Resources{Devices: map[string]offers.DeviceAsk{"npu": {Count: 1, Memory: 1}}}, "npu.slice"},
	} {
		if got := offers.Inside(total, h).Short(row.ask); got != row.short {
			t.Errorf("%+v: short of %q, want %q", row.ask, got, row.short)
		}
	}
	if got := offers.Inside(total, h).Rest(); !reflect.DeepEqual(got, h) {
		t.Errorf("inside the holding %+v is free", got)
	}
	room := offers.Inside(total, h)
	if err := room.Take(h); err != nil || !room.Rest().Zero() {
		t.Errorf("the whole holding: %v, %+v is left", err, room.Rest())
	}
}

// A device whose compute is all given away still has memory to offer.
func TestRestOfASharedDevice(t *testing.T) {
	room := offers.NewRoom(testInventory())
	taken := offers.Holding{Devices: offers.OneDevice("npu", offers.Grant{ID: "n0", Memory: 3, Share: offers.FullShare})}
	if err := room.Take(taken); err != nil {
		t.Fatal(err)
	}
	ask := offers.Resources{Devices: map[string]offers.DeviceAsk{"npu": {Count: 1, Memory: 4}}}
	if short := room.Short(ask); short != "" {
		t.Fatalf("on the agent short of %s", short)
	}
	if short := offers.Inside(testInventory(), room.Rest()).Short(ask); short != "" {
		t.Errorf("in the offer short of %s", short)
	}
}

func TestHolding(t *testing.T) {
	if !(offers.Holding{}).Zero() || (offers.Holding{Amounts: offers.Amounts{0, 0, 0, 1}}).Zero() {
		t.Error("Zero is wrong")
	}
	h := offers.Holding{Devices: offers.DevicesOf(map[string][]offers.Grant{"gpu": {{Memory: 3}, {Memory: 4}}})}
	if h.DeviceBytes("gpu") != 7 || h.DeviceBytes("npu") != 0 || h.Zero() {
		t.Errorf("%+v: %d bytes", h, h.DeviceBytes("gpu"))
	}
	full := offers.NewRoom(testInventory()).Rest()
	full.Devices.Of("gpu")[0].Share = 125
	out, err := json.Marshal(full)
	var back offers.Holding
	if err := json.Unmarshal(out, &back); err != nil || !reflect.DeepEqual(full, back) {
		t.Errorf("%s comes back as %+v, %v", out, back, err)
	}
	if err != nil || !strings.Contains(string(out), `"share":0.125`) {
		t.Errorf("written as %s, %v", out, err)
	}
	for _, bad := range []string{`{"index":-1}`, `{"index":1024}`, `{"memory":-1}`, `{"share":2}`, `{"share":-0.5}`, `{"share":0.0001}`, `7`, `{"memory":1.5}`} {
		if err := json.Unmarshal([]byte(bad), new(offers.Grant)); err == nil {
			t.Errorf("%s is read as a grant", bad)
		}
	}
}

func TestInventoryJSON(t *testing.T) {
	v := testInventory()
	v.Classes[0].Devices[1].Attributes = map[string]string{"model": "x"}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back offers.Inventory
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(out) {
		t.Errorf("%s is written again as %s, %v", out, again, err)
	}
	if back.Class("gpu")[1].Attributes["model"] != "x" || back.Classes[0].Bytes() != 120 {
		t.Errorf("read as %+v", back)
	}
	for _, row := range []struct{ in, names string }{
		{`null`, "total"}, {`[]`, "total"}, {`{"cpus":-1}`, "cpus"}, {`{"tapes":1}`, "tapes"}, {`{"devices":7}`, "devices"},
		{`{"devices":{"gpu":{"ids":["a"],"capacity":[]}}}`, "devices.gpu"},
		{`{"devices":{"gpu":{"ids":["a"],"capacity":[1],"attributes":[{},{}]}}}`, "devices.gpu"},
		{`{"devices":{"gpu":{"ids":["a","a"],"capacity":[1,1]}}}`, "gpu"},
		{`{"devices":{"gpu":{"ids":["a"],"capacity":[0]}}}`, "gpu"},
		{`{"devices":{"gpu":{"ids":["a"],"capacity":[-5]}}}`, "gpu"},
		{`{"devices":{"gpu":{"ids":[""],"capacity":[1]}}}`, "gpu"},
		{`{"devices":{"mem":{"ids":["a"],"capacity":[1]}}}`, "mem"},
		{`{"devices":{"gpu.slice":{"ids":["a"],"capacity":[1]}}}`, "gpu.slice"},
	} {
		wantNamed(t, new(offers.Inventory).UnmarshalJSON([]byte(row.in)), row.names, row.in)
	}
}

func TestInventoryValidate(t *testing.T) {
	many := offers.DeviceClass{Name: "gpu"}
	for i := range offers.MaxDevices + 1 {
		many.Devices = append(many.Devices, offers.Device{ID: fmt.Sprint(i), Capacity: 1})
	}
	for _, row := range []struct {
		v     offers.Inventory
		names string
	}{
		{testInventory(), ""},
		{offers.Inventory{}, ""},
		{offers.Inventory{Amounts: offers.Amounts{0, 0, -1}}, "disk"},
		{offers.Inventory{Amounts: offers.Amounts{0, offers.MaxAmount + 1}}, "mem"},
		{offers.Inventory{Classes: []offers.DeviceClass{many}}, "gpu"},
		{offers.Inventory{Classes: []offers.DeviceClass{{Name: "gpu", Devices: many.Devices[1:]}}}, ""},
		{offers.Inventory{Classes: []offers.DeviceClass{{Name: "b"}, {Name: "a"}}}, "a"},
		{offers.Inventory{Classes: []offers.DeviceClass{{Name: "a"}, {Name: "a"}}}, "a"},
	} {
		wantNamed(t, row.v.Validate(), row.names, "an inventory")
	}
}

// TestShortNamesTheFirstClass: of several classes that are short always the
// first, whatever the order of the map.
func TestShortNamesTheFirstClass(t *testing.T) {
	ask := offers.Resources{Devices: map[string]offers.DeviceAsk{"npu": {Count: 1}, "gpu": {Count: 1, Memory: 5}, "nic": {Count: 1}}}
	for range 50 {
		if got := offers.NewRoom(offers.Inventory{}).Short(ask); got != "gpu.slice" {
			t.Fatalf("short of %s, want gpu.slice", got)
		}
	}
}
