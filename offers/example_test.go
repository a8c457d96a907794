package offers_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// The way of a task in the words of this package.
func Example() {
	// An agent has 4 cores, 8 GiB and two GPUs of 24 GiB.
	total := offers.Inventory{
		Amounts: offers.Amounts{offers.CPUs: 4000, offers.Mem: 8 << 30},
		Classes: []offers.DeviceClass{{Name: "gpu", Devices: []offers.Device{{ID: "g0", Capacity: 24 << 30}, {ID: "g1", Capacity: 24 << 30}}}},
	}
	room := offers.NewRoom(total)

	// A framework wants a unit of this.
	var demand offers.Demand
	err := json.Unmarshal([]byte(`{"id": "train", "count": 1, "resources": {"cpus": 1.5, "devices": {"gpu": {"memory": "10GiB"}}}}`), &demand)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The master keeps the room free and issues the offer in term 3.
	held, short := room.Plan(demand.Resources, func(string) offers.Policy { return offers.Pack })
	if short != "" {
		fmt.Println("not enough", short)
		return
	}
	if err := room.Take(held); err != nil {
		fmt.Println(err)
		return
	}
	book := offers.NewBook(3)
	offer := book.Issue(&offers.Offer{Framework: "f1", Demand: demand.ID, Agent: "a1", Units: 1, Unit: demand.Resources, Held: held, Expires: time.Now().Add(2 * time.Minute)})
	fmt.Println("offer", offer.ID, "of", held.Devices.Of("gpu")[0].ID)

	// The framework accepts it with a task; that uses it up.
	if _, err := book.Consume("f1", []offers.OfferID{offer.ID}); err != nil {
		fmt.Println(err)
		return
	}
	_, err = book.Consume("f1", []offers.OfferID{offer.ID})
	fmt.Println("again:", err)

	// The task must fit inside what the offer held.
	large := offers.Resources{Amounts: offers.Amounts{offers.CPUs: 2000}}
	fmt.Println("too large in:", offers.Inside(total, held).Short(large))

	// It runs, ends, and its room comes back.
	fmt.Println("running after staging:", offers.Running.MayFollow(offers.Staging))
	fmt.Println("running after finished:", offers.Running.MayFollow(offers.Finished))
	room.Give(held)
	fmt.Println("free cpus:", offers.FormatCPUs(room.Free()[offers.CPUs]))

	// Output:
	// offer o1-3 of g0
	// again: offer o1-3 is not outstanding: it was used, rescinded or has expired
	// too large in: cpus
	// running after staging: true
	// running after finished: false
	// free cpus: 4
}

// Refusals name the field at fault.
func ExampleResources() {
	var r offers.Resources
	fmt.Println(json.Unmarshal([]byte(`{"cpus": 0.0005}`), &r))
	fmt.Println(json.Unmarshal([]byte(`{"devices": {"gpu": {"memory": "10XB"}}}`), &r))
	fmt.Println(json.Unmarshal([]byte(`{"cpus": 1.5, "mem": "512MiB", "ports": ["31000-31003"]}`), &r))
	out, err := json.Marshal(r)
	fmt.Println(string(out), err)
	// Output:
	// cpus: 0.0005 is finer than a thousandth
	// devices.gpu: memory: "10XB" is not an amount
	// <nil>
	// {"cpus":1.5,"mem":536870912,"ports":["31000-31003"]} <nil>
}

// The packing of four devices with 8 bits each.
func ExamplePackAmounts() {
	p, err := offers.PackAmounts(8, []uint64{3, 0, 20, 7})
	fmt.Printf("%#08x %d %v\n", p.Words[0], p.At(2), err)
	// Output:
	// 0x07140003 20 <nil>
}

func ExampleParseConstraint() {
	agent := &offers.Agent{Host: "web7", Attributes: map[string]string{"zone": "a"}}
	for _, text := range []string{"zone in a,b", "host~web.*", "rack==r1"} {
		c, err := offers.ParseConstraint(text)
		fmt.Println(c, c.Met(agent), err)
	}
	// Output:
	// zone in a,b true <nil>
	// host~web.* true <nil>
	// rack==r1 false <nil>
}
