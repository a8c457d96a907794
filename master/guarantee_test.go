package master

import (
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/master/state"
	"github.com/ringmaster-project/ringmaster/offers"
)

// TestOverGuaranteed: a guarantee that leaves nothing of the cluster is told, also
// with those of other roles, of which those below another count within it.
func TestOverGuaranteed(t *testing.T) {
	s := state.New()
	apply := func(c state.Command) {
		t.Helper()
		next, results := s.Apply([]state.Command{c})
		if s = next; results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
	}
	apply(state.Command{Init: &state.Init{ClusterID: "c0de-test"}})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{"a1", "a2"} {
		apply(state.Command{RegisterAgent: &state.RegisterAgent{Time: now, Agent: offers.Agent{Name: name, Host: name, Total: offers.Inventory{
			Amounts: offers.Amounts{offers.CPUs: 4000, offers.Mem: 1 << 30}, Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{{ID: "g", Capacity: 8 << 30}}}},
		}}}})
	}
	for role, cpus := range map[offers.Role]int64{"eng": 2000, "eng/ml": 1500, "eng/web": 1500, "ops/night/deep": 2000} {
		apply(state.Command{SetRole: &state.SetRole{Role: role, Settings: &offers.RoleSettings{Weight: 1, Quota: offers.Quota{Guarantee: offers.QuotaAmounts{"cpus": cpus}}}}})
	}
	for _, c := range []struct {
		role offers.Role
		to   offers.QuotaAmounts
		want string
	}{
		{"new", nil, ""},
		{"new", offers.QuotaAmounts{"cpus": 2999, "mem": 2<<30 - 1, "gpu": 16<<30 - 1}, ""},
		{"new", offers.QuotaAmounts{"cpus": 3000}, "with those of other roles the guarantees are 8 cpus, and all agents together have 8 cpus: nobody else is offered any until more comes"},
		{"new", offers.QuotaAmounts{"gpu": 16 << 30}, "the guarantee is 16GiB of gpu, and all agents together have 16GiB of gpu: all of it is held back for new until more comes"},
		{"new", offers.QuotaAmounts{"cpus": 3100}, "with those of other roles the guarantees are 8.1 cpus, and all agents together have 8 cpus: nobody else is offered any until more comes"},
		{"eng", offers.QuotaAmounts{"cpus": 5999}, ""},
		{"eng/ml", offers.QuotaAmounts{"cpus": 4499}, ""},
		{"eng/ml", offers.QuotaAmounts{"cpus": 4501}, "with those of other roles the guarantees are 8.001 cpus, and all agents together have 8 cpus: nobody else is offered any until more comes"},
		{"ops", offers.QuotaAmounts{"cpus": 9000}, "the guarantee is 9 cpus, and all agents together have 8 cpus: all of it is held back for ops until more comes"},
		{"new", offers.QuotaAmounts{"gpu": 17 << 30}, "the guarantee is 17GiB of gpu, and all agents together have 16GiB of gpu: all of it is held back for new until more comes"},
		{"new", offers.QuotaAmounts{"npu": 1}, "no agent that is there has npu: none of it is held back until one comes"},
		{"new", offers.QuotaAmounts{"npu": 0}, ""},
	} {
		if got := overGuaranteed(s, c.role, c.to); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.role, c.to, got, c.want)
		}
	}
}
