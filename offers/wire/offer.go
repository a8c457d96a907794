package wire

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Offer is an offer as a framework sees it.
type Offer struct {
	ID        offers.OfferID  `json:"id"`
	Agent     OfferAgent      `json:"agent"`
	Resources Offered         `json:"resources"`
	DemandID  offers.DemandID `json:"demand_id,omitempty"`
	Ring      *offers.RingRef `json:"ring,omitempty"`
	Expires   time.Time       `json:"expires"`
}

// OfferAgent says where the offered room is.
type OfferAgent struct {
	ID         offers.AgentID    `json:"id"`
	Name       string            `json:"name"`
	Host       string            `json:"host"`
	Address    string            `json:"address"`
	Attributes map[string]string `json:"attributes"`
}

// Offered is the room of an offer.
type Offered struct {
	Amounts offers.Amounts
	Ports   offers.Ports
	Devices map[string]OfferedDevices // by class
}

// OfferedDevices is the free room on each device for a whole-agent offer, or
// what was asked for a counted one: Units times the ask, whole devices added up.
type OfferedDevices struct {
	IDs    []string    `json:"ids,omitempty"`
	Free   []int64     `json:"free,omitempty"` // bytes per device
	Count  int         `json:"count,omitempty"`
	Memory int64       `json:"memory,omitempty"` // bytes on each device
	Share  json.Number `json:"share,omitempty"`  // fraction of each device's compute
	Units  int         `json:"units,omitempty"`  // how often the slice is offered, when more than once
}

// MakeOffered returns what o offers.
func MakeOffered(o *offers.Offer) Offered {
	out := Offered{Amounts: o.Held.Amounts, Ports: o.Held.Ports}
	if o.Whole() {
		for _, held := range o.Held.Devices {
			var d OfferedDevices
			for _, g := range held.Grants {
				d.IDs = append(d.IDs, g.ID)
				d.Free = append(d.Free, g.Memory)
			}
			out.set(held.Class, d)
		}
		return out
	}
	for class, ask := range o.Unit.Devices {
		d := OfferedDevices{Count: ask.Count, Memory: ask.Memory}
		if ask.Whole() {
			d.Count *= o.Units
		} else if o.Units > 1 {
			d.Units = o.Units
		}
		if ask.Share > 0 {
			d.Share = json.Number(offers.FormatCPUs(ask.Share))
		}
		out.set(class, d)
	}
	return out
}

func (o *Offered) set(class string, d OfferedDevices) {
	if o.Devices == nil {
		o.Devices = map[string]OfferedDevices{}
	}
	o.Devices[class] = d
}

// MarshalJSON writes the amounts of INTERFACE section 2.
func (o Offered) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(offers.Resources{Amounts: o.Amounts, Ports: o.Ports})
	if err != nil || len(o.Devices) == 0 {
		return out, err
	}
	devices, err := json.Marshal(o.Devices)
	if err != nil {
		return nil, err
	}
	if len(out) > 2 {
		out[len(out)-1] = ','
	} else {
		out = out[:1]
	}
	return append(append(append(out, `"devices":`...), devices...), '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Offered) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return errors.New("resources: not an object of amounts")
	}
	*o = Offered{}
	if raw, ok := fields["devices"]; ok {
		if err := json.Unmarshal(raw, &o.Devices); err != nil {
			return err
		}
		delete(fields, "devices")
	}
	plain, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var r offers.Resources
	if err := json.Unmarshal(plain, &r); err != nil {
		return err
	}
	o.Amounts, o.Ports = r.Amounts, r.Ports
	return nil
}
