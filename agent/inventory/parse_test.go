package inventory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/agent/inventory"
	"github.com/ringmaster-project/ringmaster/offers"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"cpus=4,mem=8GiB,disk=100GiB,bandwidth=1Gbps,ports=31000-32000,gpu=2x24GiB": `{"cpus":4,"mem":8589934592,"disk":107374182400,"bandwidth":1000000000,"ports":["31000-32000"],"devices":{"gpu":{"ids":["gpu-0","gpu-1"],"capacity":[25769803776,25769803776]}}}`,
		"cpus=0,mem=0,disk=0,bandwidth=0,ports=0,gpu=0":                             `{}`,
		" cpus = 1.5 , mem=0,disk=0, ports=80,ports=82-83":                          `{"cpus":1.5,"ports":[80,"82-83"]}`,
		"cpus=1,mem=1B,disk=1B,ports=0,npu=1x1MiB,gpu=1x1KiB":                       `{"cpus":1,"mem":1,"disk":1,"devices":{"gpu":{"ids":["gpu-0"],"capacity":[1024]},"npu":{"ids":["npu-0"],"capacity":[1048576]}}}`,
	} {
		d, err := inventory.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		v, err := d.Complete(t.TempDir(), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%q is\n%s, want\n%s %v", text, got, want, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, field := range map[string]string{
		"cpus":           "cpus",
		"cpus=x":         "cpus",
		"cpus=-1":        "cpus",
		"cpus=1.0001":    "cpus",
		"cpus=1,cpus=2":  "cpus",
		"mem=1.5":        "mem",
		"mem=16":         "512MiB",
		"disk=1":         "512MiB",
		"gpu=2x24":       "512MiB",
		"mem=NaN":        "mem",
		"ports=99999":    "ports",
		"gpu=3":          "gpu",
		"gpu=2x":         "gpu",
		"gpu=2x0":        "gpu",
		"gpu=-1x1GiB":    "gpu",
		"gpu=9999x1GiB":  "gpu",
		"g.pu=1x1GiB":    "g.pu",
		"gpu=0,gpu=0":    "gpu",
		"=3":             "resources",
		"cpus=1,,mem=1":  "resources",
		"bandwidth=1GiB": "bandwidth",
	} {
		if _, err := inventory.Parse(text); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDetect(t *testing.T) {
	d, err := inventory.Parse("")
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Complete(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Amounts[offers.CPUs] <= 0 || v.Amounts[offers.Mem] < 1<<20 || v.Amounts[offers.Disk] <= 0 || v.Amounts[offers.Bandwidth] != 0 || len(v.Ports) != 1 {
		t.Errorf("detected %+v", v)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("cpus=4,mem=8GiB,gpu=2x24GiB,ports=1-2")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := inventory.Parse(text); err == nil {
			if _, err := d.Complete("/", nil); err != nil {
				t.Errorf("%q was read and is wrong: %v", text, err)
			}
		}
	})
}
