package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

// TestPack: what is packed for the way is read back, rounded up to the unit.
func TestPack(t *testing.T) {
	c := &offers.ClassRoom{Name: "gpu", Used: []int64{0, 1, 141 << 30, 5 << 20}, Shares: make([]int64, 4)}
	for range c.Used {
		c.Devices = append(c.Devices, offers.Device{ID: "g", Capacity: 141 << 30})
	}
	packed, err := wire.Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := packed.Amounts(4); err != nil || !reflect.DeepEqual(got, []int64{0, 1 << 20, 141 << 30, 5 << 20}) {
		t.Errorf("%+v is read as %v, %v", packed, got, err)
	}
}

func TestAmountsRefuses(t *testing.T) {
	for want, c := range map[string]wire.PackedClass{
		"0 bits":        {Unit: 1, Used: []string{"0x0"}},
		"65 bits":       {Bits: 65, Unit: 1, Used: []string{"0x0"}},
		"unit of 0":     {Bits: 8, Used: []string{"0x0"}},
		"2 words":       {Bits: 8, Unit: 1, Used: []string{"0x0", "0x0"}},
		"0 words":       {Bits: 8, Unit: 1},
		"not a word":    {Bits: 8, Unit: 1, Used: []string{"seven"}},
		"more than any": {Bits: 64, Unit: 1 << 40, Used: []string{"0xffffffffffffffff"}},
	} {
		if got, err := c.Amounts(1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v is read as %v, %v; want an error with %q", c, got, err, want)
		}
	}
}
