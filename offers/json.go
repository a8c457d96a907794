package offers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// UnmarshalJSON reads resources strictly: every kind is known, every amount
// is exact, in range and no null or boolean. The error names the field.
func (r *Resources) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return errors.New("resources: not an object of amounts")
	}
	*r = Resources{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := fields[name]
		var err error
		switch s, scalar := ScalarNamed(name); {
		case scalar:
			r.Amounts[s], err = scalarJSON(s, raw)
		case name == "ports":
			if err = r.portsJSON(raw); err != nil {
				return err
			}
		case name == "devices":
			if r.Devices, err = devicesJSON(raw); err != nil {
				return err
			}
		default:
			err = errors.New("is not a kind of resource")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(name), err)
		}
	}
	return nil
}

// portsJSON reads a number of ports, or a list of them.
func (r *Resources) portsJSON(raw json.RawMessage) error {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return r.Ports.UnmarshalJSON(raw)
	}
	r.AnyPorts = n
	return r.Validate()
}

func scalarJSON(s Scalar, raw json.RawMessage) (int64, error) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
	}
	return ParseScalar(s, text)
}

func devicesJSON(raw json.RawMessage) (map[string]DeviceAsk, error) {
	var classes map[string]json.RawMessage
	if err := json.Unmarshal(raw, &classes); err != nil || classes == nil {
		return nil, errors.New("devices: not an object of device classes")
	}
	out := make(map[string]DeviceAsk, len(classes))
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if err := validClass(class); err != nil {
			return nil, fmt.Errorf("devices: %w", err)
		}
		ask, err := askJSON(classes[class])
		if err != nil {
			return nil, fmt.Errorf("devices.%s: %w", class, err)
		}
		if ask.Count > 0 {
			out[class] = ask
		}
	}
	return out, nil
}

// askJSON reads one class; {"count": 0} asks for nothing.
func askJSON(raw json.RawMessage) (DeviceAsk, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || len(fields) == 0 {
		return DeviceAsk{}, errors.New(`not {"count": n}, {"memory": size} or {"share": part}`)
	}
	ask := DeviceAsk{Count: 1}
	for name, value := range fields {
		var err error
		switch name {
		case "count":
			ask.Count, err = strconv.Atoi(string(value))
			if err != nil {
				err = fmt.Errorf("%s is not a number of devices", clip(string(value)))
			}
		case "memory":
			if ask.Memory, err = scalarJSON(Mem, value); err == nil && ask.Memory == 0 {
				err = errors.New("a slice has at least one byte")
			}
		case "share":
			if ask.Share, err = scalarJSON(CPUs, value); err == nil && ask.Share == 0 {
				err = errors.New("a share is more than 0")
			}
		default:
			err = errors.New("is not part of a device demand")
		}
		if err != nil {
			return DeviceAsk{}, fmt.Errorf("%s: %w", clip(name), err)
		}
	}
	if ask.Count == 0 {
		return DeviceAsk{}, nil
	}
	return ask, ask.validate()
}

// MarshalJSON writes sizes as bytes and cpus with at most three decimals;
// kinds of which nothing is asked are left out.
func (r Resources) MarshalJSON() ([]byte, error) {
	return marshalKinds(r, len(r.Devices), func(class string) any { return r.Devices[class] }, slices.Sorted(maps.Keys(r.Devices)))
}

// MarshalJSON writes the ask as it is read, a count of 1 with a slice left out.
func (a DeviceAsk) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	if a.Whole() || a.Count != 1 {
		out["count"] = a.Count
	}
	if a.Memory > 0 {
		out["memory"] = a.Memory
	}
	if a.Share > 0 {
		out["share"] = thousandths(a.Share)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what is asked of one class, as [Resources] has it.
func (a *DeviceAsk) UnmarshalJSON(data []byte) error {
	ask, err := askJSON(data)
	if err == nil {
		*a = ask
	}
	return err
}

// MarshalJSON writes the amounts, a kind of nothing left out.
func (a Amounts) MarshalJSON() ([]byte, error) {
	return marshalKinds(Resources{Amounts: a}, 0, nil, nil)
}

// UnmarshalJSON reads scalar amounts as [Resources] does.
func (a *Amounts) UnmarshalJSON(data []byte) error {
	var r Resources
	if err := r.UnmarshalJSON(data); err != nil {
		return err
	}
	if len(r.Ports) > 0 || r.AnyPorts > 0 || len(r.Devices) > 0 {
		return errors.New("ports and devices have no place here")
	}
	*a = r.Amounts
	return nil
}

// grantJSON is a Grant as it travels: the share as a fraction of a device.
type grantJSON struct {
	ID     string      `json:"id"`
	Index  int         `json:"index"`
	Memory int64       `json:"memory"`
	Share  json.Number `json:"share,omitempty"`
}

// MarshalJSON writes the share as a fraction with at most three decimals.
func (g Grant) MarshalJSON() ([]byte, error) {
	out := grantJSON{ID: g.ID, Index: g.Index, Memory: g.Memory}
	if g.Share > 0 {
		out.Share = thousandths(g.Share)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Grant) UnmarshalJSON(data []byte) error {
	var in grantJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("device grant: %w", err)
	}
	out := Grant{ID: in.ID, Index: in.Index, Memory: in.Memory}
	if in.Share != "" {
		share, err := exact(string(in.Share), string(in.Share), FullShare, "finer than a thousandth")
		if err != nil {
			return fmt.Errorf("device grant: share %s is out of range", in.Share)
		}
		out.Share = share
	}
	if err := out.Validate(); err != nil {
		return err
	}
	*g = out
	return nil
}

// Validate refuses what no device has.
func (g *Grant) Validate() error {
	if g.Index < 0 || g.Index >= MaxDevices || g.Memory < 0 || g.Memory > MaxAmount {
		return fmt.Errorf("device grant: index %d or memory %d is out of range", g.Index, g.Memory)
	}
	if g.Share < 0 || g.Share > FullShare {
		return fmt.Errorf("device grant: share %s is out of range", FormatCPUs(g.Share))
	}
	return nil
}

func thousandths(n int64) json.Number { return json.Number(FormatCPUs(n)) }

// marshalKinds writes the one JSON form that all resource types share, in the
// fixed order of kinds.
func marshalKinds(r Resources, classes int, class func(string) any, names []string) ([]byte, error) {
	out := []byte{'{'}
	for k, n := range r.Amounts {
		if n == 0 {
			continue
		}
		out = strconv.AppendQuote(out, Scalar(k).String())
		out = append(out, ':')
		if Scalar(k) == CPUs {
			out = append(out, FormatCPUs(n)...)
		} else {
			out = strconv.AppendInt(out, n, 10)
		}
		out = append(out, ',')
	}
	switch {
	case r.AnyPorts > 0:
		out = append(strconv.AppendInt(append(out, `"ports":`...), int64(r.AnyPorts), 10), ',')
	case len(r.Ports) > 0:
		list, err := r.Ports.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, `"ports":`...), list...), ',')
	}
	if classes > 0 {
		out = append(out, `"devices":{`...)
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			value, err := json.Marshal(class(name))
			if err != nil {
				return nil, err
			}
			out = append(append(strconv.AppendQuote(out, name), ':'), value...)
		}
		out = append(out, "},"...)
	}
	if out[len(out)-1] == ',' {
		out = out[:len(out)-1]
	}
	return append(out, '}'), nil
}
