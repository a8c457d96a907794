package offers_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
)

func TestResourcesJSON(t *testing.T) {
	for _, row := range []struct{ in, out string }{
		{`{}`, `{}`},
		{`{"cpus":0,"mem":"0","ports":[],"devices":{}}`, `{}`},
		{`{"cpus":1.5}`, `{"cpus":1.5}`},
		{`{"cpus":"0.25"}`, `{"cpus":0.25}`},
		{`{"cpus":1e3}`, `{"cpus":1000}`},
		{`{"cpus":1.500}`, `{"cpus":1.5}`},
		{`{"mem":"512MiB","cpus":1,"disk":"1GiB","bandwidth":"1Gbps"}`, `{"cpus":1,"mem":536870912,"disk":1073741824,"bandwidth":1000000000}`},
		{`{"mem":1e9}`, `{"mem":1000000000}`},
		{`{"ports":[31000]}`, `{"ports":[31000]}`},
		{`{"ports":["31002-31005",31000,31001,"8080"]}`, `{"ports":[8080,"31000-31005"]}`},
		{`{"devices":{"gpu":{"count":2}}}`, `{"devices":{"gpu":{"count":2}}}`},
		{`{"devices":{"gpu":{"memory":"10GiB"}}}`, `{"devices":{"gpu":{"memory":10737418240}}}`},
		{`{"devices":{"gpu":{"memory":"10GiB","count":1}}}`, `{"devices":{"gpu":{"memory":10737418240}}}`},
		{`{"devices":{"npu":{"share":"0.5"},"gpu":{"count":2,"memory":1,"share":0.25}}}`,
			`{"devices":{"gpu":{"count":2,"memory":1,"share":0.25},"npu":{"share":0.5}}}`},
		{`{"devices":{"gpu":{"share":1}}}`, `{"devices":{"gpu":{"share":1}}}`},
		{`{"devices":{"gpu":{"count":0}}}`, `{}`},
	} {
		var r offers.Resources
		if err := json.Unmarshal([]byte(row.in), &r); err != nil {
			t.Errorf("%s: %v", row.in, err)
			continue
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: read but not valid: %v", row.in, err)
		}
		if out, err := json.Marshal(r); err != nil || string(out) != row.out {
			t.Errorf("%s: written as %s, %v; want %s", row.in, out, err, row.out)
		}
		if zero := row.out == `{}`; zero != r.Zero() {
			t.Errorf("%s: Zero is %v", row.in, r.Zero())
		}
	}
}

func TestResourcesRefused(t *testing.T) {
	for _, row := range []struct{ in, names string }{
		{`null`, "resources"}, {`[]`, "resources"}, {`"x"`, "resources"}, {`7`, "resources"},
		{`{"cpus":null}`, "cpus"}, {`{"cpus":true}`, "cpus"}, {`{"cpus":[1]}`, "cpus"}, {`{"cpus":{}}`, "cpus"}, {`{"cpus":""}`, "cpus"},
		{`{"cpus":-1}`, "cpus"}, {`{"cpus":0.0001}`, "cpus"}, {`{"cpus":1e400}`, "cpus"}, {`{"cpus":"NaN"}`, "cpus"}, {`{"cpus":"Infinity"}`, "cpus"},
		{`{"cpus":1,"mem":-1}`, "mem"}, {`{"mem":0.5}`, "mem"}, {`{"mem":"1XB"}`, "mem"}, {`{"mem":99999999999999999999}`, "mem"}, {`{"mem":null}`, "mem"},
		{`{"disk":false}`, "disk"}, {`{"bandwidth":"1GiB"}`, "bandwidth"},
		{`{"CPUS":1}`, "CPUS"}, {`{"memory":1}`, "memory"}, {`{"gpu":{"count":1}}`, "gpu"}, {`{"":1}`, "kind"},
		{`{"ports":null}`, "ports"}, {`{"ports":31000}`, "ports"}, {`{"ports":[0]}`, "ports"}, {`{"ports":[65536]}`, "ports"}, {`{"ports":[-1]}`, "ports"},
		{`{"ports":[1.5]}`, "ports"}, {`{"ports":[null]}`, "ports"}, {`{"ports":[true]}`, "ports"}, {`{"ports":["5-4"]}`, "ports"}, {`{"ports":["a"]}`, "ports"},
		{`{"ports":[1,1]}`, "ports"}, {`{"ports":["1-5",5]}`, "ports"}, {`{"ports":["1-5","3-9"]}`, "ports"},
		{`{"devices":null}`, "devices"}, {`{"devices":[]}`, "devices"}, {`{"devices":{"gpu":2}}`, "devices.gpu"}, {`{"devices":{"gpu":null}}`, "devices.gpu"},
		{`{"devices":{"gpu":{}}}`, "devices.gpu"}, {`{"devices":{"gpu":{"count":-1}}}`, "count"}, {`{"devices":{"gpu":{"count":1.5}}}`, "count"},
		{`{"devices":{"gpu":{"count":null}}}`, "count"}, {`{"devices":{"gpu":{"count":1025}}}`, "count"}, {`{"devices":{"gpu":{"count":99999999999999999999}}}`, "count"},
		{`{"devices":{"gpu":{"memory":0}}}`, "memory"}, {`{"devices":{"gpu":{"memory":"-1GiB"}}}`, "memory"}, {`{"devices":{"gpu":{"memory":null}}}`, "memory"},
		{`{"devices":{"gpu":{"count":1024,"memory":"8000TiB"}}}`, "memory"},
		{`{"devices":{"gpu":{"share":0}}}`, "share"}, {`{"devices":{"gpu":{"share":1.001}}}`, "share"}, {`{"devices":{"gpu":{"share":0.0005}}}`, "share"},
		{`{"devices":{"gpu":{"cores":1}}}`, "cores"},
		{`{"devices":{"cpus":{"count":1}}}`, "cpus"}, {`{"devices":{"ports":{"count":1}}}`, "ports"}, {`{"devices":{"":{"count":1}}}`, "class"},
		{`{"devices":{"gpu.slice":{"count":1}}}`, "gpu.slice"}, {`{"devices":{"g/u":{"count":1}}}`, "g/u"},
	} {
		var r offers.Resources
		err := r.UnmarshalJSON([]byte(row.in))
		if err == nil {
			t.Errorf("%s: read as %+v, want it refused", row.in, r)
			continue
		}
		if !strings.Contains(err.Error(), row.names) {
			t.Errorf("%s: the message does not name %q: %v", row.in, row.names, err)
		}
	}
}

func TestResourcesValidate(t *testing.T) {
	gpu := func(a offers.DeviceAsk) offers.Resources {
		return offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": a}}
	}
	for _, row := range []struct {
		r     offers.Resources
		names string // "" for valid
	}{
		{offers.Resources{}, ""},
		{offers.Resources{Amounts: offers.Amounts{1, 2, 3, 4}}, ""},
		{offers.Resources{Amounts: offers.Amounts{-1}}, "cpus"},
		{offers.Resources{Amounts: offers.Amounts{0, offers.MaxAmount + 1}}, "mem"},
		{gpu(offers.DeviceAsk{Count: 1}), ""},
		{gpu(offers.DeviceAsk{}), "devices.gpu"},
		{gpu(offers.DeviceAsk{Count: offers.MaxDevices + 1}), "count"},
		{gpu(offers.DeviceAsk{Count: 1, Memory: -1}), "memory"},
		{gpu(offers.DeviceAsk{Count: 2, Memory: offers.MaxAmount}), "memory"},
		{gpu(offers.DeviceAsk{Count: 1, Share: 1001}), "share"},
		{gpu(offers.DeviceAsk{Count: 1, Share: -1}), "share"},
	} {
		wantNamed(t, row.r.Validate(), row.names, row.r)
	}
}

// wantNamed checks that err is nil for names "", and names that field otherwise.
func wantNamed(t testing.TB, err error, names string, about any) {
	t.Helper()
	switch {
	case names == "" && err != nil:
		t.Errorf("%+v: %v", about, err)
	case names != "" && err == nil:
		t.Errorf("%+v: want it refused for %q", about, names)
	case names != "" && !strings.Contains(err.Error(), names):
		t.Errorf("%+v: the message does not name %q: %v", about, names, err)
	}
}

func TestAmountsJSON(t *testing.T) {
	var a offers.Amounts
	if err := json.Unmarshal([]byte(`{"cpus":0.5,"mem":"1KiB"}`), &a); err != nil || a != (offers.Amounts{500, kib}) {
		t.Errorf("got %v, %v", a, err)
	}
	if out, err := json.Marshal(a); err != nil || string(out) != `{"cpus":0.5,"mem":1024}` {
		t.Errorf("written as %s, %v", out, err)
	}
	for _, in := range []string{`{"ports":[1]}`, `{"devices":{"gpu":{"count":1}}}`, `{"mem":-1}`, `null`} {
		if err := json.Unmarshal([]byte(in), new(offers.Amounts)); err == nil && in != `null` {
			t.Errorf("%s is read as amounts", in)
		}
	}
}

func TestRole(t *testing.T) {
	for role, ok := range map[offers.Role]bool{
		"a": true, "eng/ml": true, "A.b_c-9/x": true, "a/b/c/d/e/f/g/h": true, offers.Role(strings.Repeat("x", 64)): true, "...": true,
		"": false, "/": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/..": false, "a/./b": false,
		"a/b/c/d/e/f/g/h/i": false, offers.Role(strings.Repeat("x", 65)): false, "a b": false, "ä": false, "a\x00": false, "*": false,
	} {
		if err := role.Validate(); (err == nil) != ok {
			t.Errorf("role %q: %v, want valid %v", role, err, ok)
		}
		if got := strings.Join(role.Parts(), "/"); got != string(role) {
			t.Errorf("role %q: parts join to %q", role, got)
		}
	}
}

func TestRoleSettings(t *testing.T) {
	limits := func(limit, guarantee offers.QuotaAmounts) offers.RoleSettings {
		return offers.RoleSettings{Weight: 1, Quota: offers.Quota{Limit: limit, Guarantee: guarantee}}
	}
	for _, row := range []struct {
		s     offers.RoleSettings
		names string
	}{
		{offers.RoleSettings{Weight: 1}, ""},
		{offers.RoleSettings{Weight: 0.001}, ""},
		{offers.RoleSettings{Weight: offers.MaxWeight}, ""},
		{offers.RoleSettings{}, "weight"},
		{offers.RoleSettings{Weight: -1}, "weight"},
		{offers.RoleSettings{Weight: 2 * offers.MaxWeight}, "weight is 2e+06; it is above 0 and at most 1000000"},
		{offers.RoleSettings{Weight: math.NaN()}, "weight"},
		{offers.RoleSettings{Weight: math.Inf(1)}, "weight"},
		{limits(offers.QuotaAmounts{"cpus": 5}, offers.QuotaAmounts{"cpus": 5, "mem": 7}), ""},
		{limits(offers.QuotaAmounts{"cpus": 4}, offers.QuotaAmounts{"cpus": 5}), "guarantee.cpus"},
		{limits(offers.QuotaAmounts{"gpu": -1}, nil), "gpu"},
		{limits(nil, offers.QuotaAmounts{"mem": offers.MaxAmount + 1}), "mem"},
	} {
		wantNamed(t, row.s.Validate(), row.names, row.s)
	}
}

func FuzzResources(f *testing.F) {
	for _, seed := range []string{
		`{"cpus":1.5,"mem":"512MiB","disk":"1GiB","bandwidth":"1Gbps","ports":[31000,"1-5"],"devices":{"gpu":{"count":2,"memory":"1GiB","share":0.5}}}`,
		`{"cpus":1e400}`, `{"cpus":null}`, `{"devices":{"gpu":{"count":0}}}`, `[]`, `{"mem":"17179869184GiB"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r offers.Resources
		if json.Unmarshal(data, &r) != nil {
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("read but not valid: %v", err)
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		var back offers.Resources
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%s: written but not read: %v", first, err)
		}
		second, err := json.Marshal(back)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s and %s differ (%v)", first, second, err)
		}
		if !reflect.DeepEqual(r.Amounts, back.Amounts) || len(r.Devices) != len(back.Devices) {
			t.Fatalf("%+v and %+v differ", r, back)
		}
	})
}
