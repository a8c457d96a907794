package discovery_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/discovery"
	"github.com/ringmaster-project/ringmaster/offers"
)

const full = `{"devices": [{"class": "npu", "id": "NPU-1", "capacity": "32GiB", "attributes": {"model": "N2"}, "numa": 0, "links": {"NPU-2": 100},
	"nodes": ["/dev/npu0"], "cdi": "vendor.com/npu=0", "enforcement": "hardware", "health": "it is too hot", "processes": [{"pid": 4711, "memory": 1073741824}], "later": true},
	{"class": "npu", "id": "NPU-2", "capacity": 7, "health": "ok", "numa": -1, "processes": []}, {"class": "nic", "id": "NPU-2", "capacity": 1}]}`

func TestDecode(t *testing.T) {
	got, err := discovery.Decode([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := discovery.Report{Devices: []discovery.Found{
		{Class: "npu", Unwell: "it is too hot", Processes: []discovery.Process{{PID: 4711, Memory: 1 << 30}}, Device: offers.Device{
			ID: "NPU-1", Capacity: 32 << 30, Attributes: map[string]string{"model": "N2", "numa": "0"}, Links: map[string]int{"NPU-2": 100},
			Nodes: []string{"/dev/npu0"}, CDI: "vendor.com/npu=0", Enforcement: offers.TierHardware,
		}},
		{Class: "npu", Device: offers.Device{ID: "NPU-2", Capacity: 7}, Processes: []discovery.Process{}},
		{Class: "nic", Device: offers.Device{ID: "NPU-2", Capacity: 1}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read as %+v", got)
	}
	data, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := discovery.Decode(data); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("%s is read as %+v, %v", data, again, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	device := func(fields string) string { return `{"devices":[{"class":"npu","id":"a","capacity":1` + fields + `}]}` }
	for text, want := range map[string]string{
		``:                "no report",
		`null`:            "no list of devices",
		`{}`:              "no list of devices",
		`[]`:              "no report",
		`{"devices":{}}`:  "it is no report: devices: object can't stand here",
		`{"devices":[7]}`: "it is no report: devices[0]: a JSON object is needed, not a number",
		`{"devices":[{"class":"npu","id":"a","capacity":1},{"class":"npu","id":"b","capacity":-5}]}`: "it is no report: devices[1]: capacity: -5 is negative",
		`{"devices":[{"class":"npu","id":7,"capacity":1}]}`:                                          "it is no report: devices[0]: id: number can't stand here",
		`{"devices":[{"id":"a","capacity":1}]}`:                                                      "class",
		`{"devices":[{"class":"cpus","id":"a","capacity":1}]}`:                                       "class",
		`{"devices":[{"class":"npu","capacity":1}]}`:                                                 "id",
		`{"devices":[{"class":"npu","id":"a"}]}`:                                                     "capacity",
		`{"devices":[{"class":"npu","id":"a","capacity":-1}]}`:                                       "capacity",
		`{"devices":[{"class":"npu","id":"a","capacity":"9XiB"}]}`:                                   "9XiB",
		`{"devices":[{"class":"npu","id":"a","capacity":1},{"class":"npu","id":"a","capacity":1}]}`:  "twice",
		device(`,"enforcement":"prayer"`):                                                            "enforcement",
		device(`,"nodes":["dev/npu0"]`):                                                              "absolute",
		device(`,"links":{"b":-1}`):                                                                  "link",
		device(`,"attributes":{"":"x"}`):                                                             "attribute",
		device(`,"processes":[{"pid":0,"memory":1}]`):                                                "pid",
		device(`,"processes":[{"pid":1,"memory":-1}]`):                                               "memory",
		device(`,"id":"` + strings.Repeat("x", 300) + `"`):                                           "longer",
	} {
		if r, err := discovery.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%.80s is read as %+v, %v; want an error with %q", text, r, err, want)
		}
	}
}

// FuzzDecode: what is taken from a plugin can be counted and told, and comes
// back as it was.
func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add(`{"devices":[{"class":"gpu","id":"g","capacity":"1MiB","health":"\u0000\u2028"}]}`)
	f.Add(`{"devices":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := discovery.Decode([]byte(text))
		if err != nil {
			return
		}
		for _, d := range r.Devices {
			if err := d.Device.Validate(); err != nil {
				t.Errorf("taken: %v", err)
			}
			if !offers.Printable(d.Unwell) {
				t.Errorf("%q can't be printed", d.Unwell)
			}
		}
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := discovery.Decode(data); err != nil || len(again.Devices) != len(r.Devices) {
			t.Errorf("%s is read as %+v, %v", data, again, err)
		}
	})
}
