package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/wire"
)

func TestMakeOffered(t *testing.T) {
	gpus := []offers.Grant{{ID: "g0", Memory: 24, Share: 1000}, {ID: "g1", Index: 1, Memory: 10, Share: 500}}
	held := offers.Holding{Amounts: offers.Amounts{1500, 64}, Ports: offers.MakePorts(offers.PortRange{First: 7, Last: 9}), Devices: offers.DevicesOf(map[string][]offers.Grant{"gpu": gpus})}
	unit := func(a offers.DeviceAsk) offers.Resources {
		return offers.Resources{Devices: map[string]offers.DeviceAsk{"gpu": a}}
	}
	for _, row := range []struct {
		o    offers.Offer
		want string
	}{
		{offers.Offer{}, `{}`},
		{offers.Offer{Held: held}, `{"cpus":1.5,"mem":64,"ports":["7-9"],"devices":{"gpu":{"ids":["g0","g1"],"free":[24,10]}}}`},
		{offers.Offer{Held: offers.Holding{Devices: held.Devices}}, `{"devices":{"gpu":{"ids":["g0","g1"],"free":[24,10]}}}`},
		{offers.Offer{Held: held, Units: 2, Unit: unit(offers.DeviceAsk{Count: 1})}, `{"cpus":1.5,"mem":64,"ports":["7-9"],"devices":{"gpu":{"count":2}}}`},
		{offers.Offer{Units: 1, Unit: unit(offers.DeviceAsk{Count: 1, Memory: 5})}, `{"devices":{"gpu":{"count":1,"memory":5}}}`},
		{offers.Offer{Units: 3, Unit: unit(offers.DeviceAsk{Count: 2, Memory: 5, Share: 250})}, `{"devices":{"gpu":{"count":2,"memory":5,"share":0.25,"units":3}}}`},
		{offers.Offer{Units: 1, Held: offers.Holding{Amounts: offers.Amounts{1}}}, `{"cpus":0.001}`},
	} {
		out, err := json.Marshal(wire.MakeOffered(&row.o))
		if err != nil || string(out) != row.want {
			t.Errorf("%+v: %s, %v; want %s", row.o, out, err, row.want)
			continue
		}
		var back wire.Offered
		if err := json.Unmarshal(out, &back); err != nil {
			t.Errorf("%s: %v", out, err)
			continue
		}
		if again, err := json.Marshal(back); err != nil || string(again) != row.want {
			t.Errorf("%s comes back as %s, %v", row.want, again, err)
		}
	}
	for _, in := range []string{`null`, `[]`, `{"cpus":-1}`, `{"devices":7}`, `{"tapes":1}`} {
		if err := new(wire.Offered).UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("%s is read as what is offered", in)
		}
	}
}
