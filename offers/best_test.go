package offers_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringmaster-project/ringmaster/offers"
)

// TestBestIsWhatBindTakes: for one device both say the same.
func TestBestIsWhatBindTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := class(20, rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 6).Draw(t, "used")...)
		c.Shares = rapid.SliceOfN(rapid.Int64Range(0, offers.FullShare), len(c.Used), len(c.Used)).Draw(t, "shares")
		if rapid.Bool().Draw(t, "some withheld") {
			c.Away = rapid.SliceOfN(rapid.Int64Range(0, 20), len(c.Used), len(c.Used)).Draw(t, "away")
		}
		ask := offers.DeviceAsk{
			Count:  1,
			Memory: rapid.Int64Range(0, 20).Draw(t, "memory"),
			Share:  rapid.SampledFrom([]int64{0, 100, 500, 1000}).Draw(t, "share"),
		}
		policy := rapid.SampledFrom([]offers.Policy{offers.Spread, offers.Pack, ""}).Draw(t, "policy")
		want, fits := c.Bind(ask, policy)
		best, ok := c.Best(ask, policy)
		if ok != fits || ok && !slices.Equal(want, []offers.Grant{c.Grant(best, ask)}) {
			t.Fatalf("%+v of %v %v by %q: device %d %v, Bind gives %v %v", ask, c.Used, c.Shares, policy, best, ok, want, fits)
		}
	})
}
