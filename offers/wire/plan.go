package wire

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ringmaster-project/ringmaster/offers"
)

// plan is how values of one type are written and read in binary form. It is
// made once for each type, from the same Go type and tags as its JSON:
//
//	bool              one byte
//	numbers           a varint, zigzag where negative ones may be; a float its 8 bytes
//	strings           length, then UTF-8
//	slices, maps      1 + length, 0 for nil, then the elements; keys ascending
//	slices of structs each element's length before it
//	pointers          1 and the value, 0 for nil
//	structs           their fields, in their order
//	time.Time         seconds, nanoseconds, minutes east of UTC
//	what has JSON of  length, then that JSON
//	its own
//
// A value is read back as it would be out of JSON, and what JSON refuses is
// refused.
type plan struct {
	put   func(out []byte, v reflect.Value) ([]byte, error)
	get   func(in *reader, v reflect.Value)
	least int // bytes of a value
}

// putString writes a text as JSON would have it read.
func putString(out []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // each bad byte is one replacement, as for encoding/json
	}
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

var (
	plans     sync.Map // reflect.Type to *plan
	special   = map[reflect.Type]func() *plan{}
	specially sync.Once
)

// planOf returns the plan of a type.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, makePlan(t))
	return p.(*plan)
}

// makePlan panics for a type that messages don't have; a test makes the plans of
// all that they have.
func makePlan(t reflect.Type) *plan {
	specially.Do(setSpecial)
	if own := special[t]; own != nil {
		return own()
	}
	if ownJSON(t) {
		return jsonPlan(t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolPlan()
	case reflect.Int, reflect.Int64:
		return intPlan(nil)
	case reflect.Uint64, reflect.Uint16:
		return uintPlan()
	case reflect.Float64:
		return floatPlan()
	case reflect.String:
		return stringPlan()
	case reflect.Pointer:
		return pointerPlan(t)
	case reflect.Slice:
		return slicePlan(t)
	case reflect.Map:
		return mapPlan(t)
	case reflect.Struct:
		return structPlan(t, nil)
	default:
		panic(fmt.Sprintf("wire: %v has no binary form", t))
	}
}

// ownJSON reports whether a type decides itself what its JSON is.
func ownJSON(t reflect.Type) bool {
	for _, i := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if reflect.PointerTo(t).Implements(i) && t.Kind() != reflect.Pointer {
			return true
		}
	}
	return false
}

// setSpecial says what is not written by its kind or its own JSON. Those with
// a check have rules that their JSON is held to.
func setSpecial() {
	special[reflect.TypeFor[time.Time]()] = timePlan
	special[reflect.TypeFor[json.RawMessage]()] = rawPlan
	special[reflect.TypeFor[json.Number]()] = func() *plan { return jsonPlan(reflect.TypeFor[json.Number]()) }
	special[reflect.TypeFor[offers.State]()] = statePlan
	special[reflect.TypeFor[offers.Duration]()] = func() *plan {
		return intPlan(func(n int64) error { return offers.Duration(n).Validate() })
	}
	special[reflect.TypeFor[offers.Amounts]()] = amountsPlan
	special[reflect.TypeFor[offers.Devices]()] = devicesPlan
	checked(func(r *offers.Resources) error { return r.Validate() })
	checked(func(a *offers.DeviceAsk) error { return nil }) // by its Resources
	checked((*offers.Grant).Validate)
	checked(func(*offers.Task) error { return nil })   // by ReadTask's callers
	checked(func(*offers.Demand) error { return nil }) // by ReadDemand
	checked(func(*Offered) error { return nil })
	checked(func(m *StateRequest) error { return validJSON(m.Value) })
	checked(func(m *StateAnswer) error { return validJSON(m.Value) })
	checked(func(m *TaskMessage) error { return validJSON(m.Data) })
}

func checked[T any](check func(*T) error) {
	t := reflect.TypeFor[T]()
	special[t] = func() *plan {
		return structPlan(t, func(v reflect.Value) error { return check(v.Addr().Interface().(*T)) })
	}
}

func validJSON(raw json.RawMessage) error {
	if len(raw) > 0 && !json.Valid(raw) {
		return errors.New("a value is not JSON")
	}
	return nil
}

func boolPlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			if v.Bool() {
				return append(out, 1), nil
			}
			return append(out, 0), nil
		},
		get:   func(in *reader, v reflect.Value) { v.SetBool(in.byte() != 0) },
		least: 1,
	}
}

func intPlan(check func(int64) error) *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) { return binary.AppendVarint(out, v.Int()), nil },
		get: func(in *reader, v reflect.Value) {
			n := in.varint()
			if check != nil {
				if err := check(n); err != nil {
					in.fail("%w", err)
					return
				}
			}
			v.SetInt(n)
		},
		least: 1,
	}
}

func uintPlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) { return binary.AppendUvarint(out, v.Uint()), nil },
		get: func(in *reader, v reflect.Value) {
			n := in.uvarint()
			if v.OverflowUint(n) {
				in.fail("%d is too large", n)
				return
			}
			v.SetUint(n)
		},
		least: 1,
	}
}

func floatPlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(out, math.Float64bits(v.Float())), finite(v.Float())
		},
		get: func(in *reader, v reflect.Value) {
			raw := in.take(8)
			if in.err != nil {
				return
			}
			f := math.Float64frombits(binary.LittleEndian.Uint64([]byte(raw)))
			if err := finite(f); err != nil {
				in.fail("%w", err)
				return
			}
			v.SetFloat(f)
		},
		least: 8,
	}
}

func stringPlan() *plan {
	return &plan{
		put:   func(out []byte, v reflect.Value) ([]byte, error) { return putString(out, v.String()), nil },
		get:   func(in *reader, v reflect.Value) { v.SetString(in.text()) },
		least: 1,
	}
}

// statePlan has all states share the memory of their constants.
func statePlan() *plan {
	p := stringPlan()
	p.get = func(in *reader, v reflect.Value) { v.SetString(string(offers.StateNamed(in.text()))) }
	return p
}

func rawPlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			raw := v.Bytes()
			if raw == nil {
				raw = []byte("null")
			}
			return append(binary.AppendUvarint(out, uint64(len(raw))), raw...), nil
		},
		get: func(in *reader, v reflect.Value) {
			if raw := in.take(in.uvarint()); raw != "" {
				v.SetBytes([]byte(raw))
			}
		},
		least: 1,
	}
}

func timePlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			t := v.Addr().Interface().(*time.Time)
			_, east := t.Zone()
			if err := dated(t.Unix(), east); err != nil {
				return nil, err
			}
			out = binary.AppendVarint(out, t.Unix())
			out = binary.AppendUvarint(out, uint64(t.Nanosecond()))
			return binary.AppendVarint(out, int64(east/60)), nil
		},
		get: func(in *reader, v reflect.Value) {
			seconds, nanos, east := in.varint(), in.uvarint(), in.varint()
			if nanos >= 1e9 || east <= -24*60 || east >= 24*60 {
				in.fail("that is no time")
				return
			}
			if err := dated(seconds, int(east)*60); err != nil {
				in.fail("%w", err)
				return
			}
			t := time.Unix(seconds, int64(nanos)).UTC()
			if east != 0 {
				t = t.In(time.FixedZone("", int(east)*60))
			}
			*v.Addr().Interface().(*time.Time) = t
		},
		least: 3,
	}
}

// dated refuses moments outside the years 0 to 9999, which JSON has no form for.
func dated(seconds int64, east int) error {
	const begin, end = -62167219200, 253402300800
	if at := seconds + int64(east); seconds < begin-86400 || at < begin || at >= end {
		return errors.New("a time is outside the years 0 to 9999")
	}
	return nil
}

func amountsPlan() *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			for _, n := range v.Addr().Interface().(*offers.Amounts) {
				out = binary.AppendVarint(out, n)
			}
			return out, nil
		},
		get: func(in *reader, v reflect.Value) {
			to := v.Addr().Interface().(*offers.Amounts)
			for k := range to {
				n := in.varint()
				if n < 0 || n > offers.MaxAmount {
					in.fail("%s: %d is out of range", offers.Scalar(k), n)
					return
				}
				to[k] = n
			}
		},
		least: int(offers.Scalars),
	}
}

// devicesPlan writes what is held as the map from class to grants that it stands
// for.
func devicesPlan() *plan {
	grants := planOf(reflect.TypeFor[[]offers.Grant]())
	return &plan{
		put: func(out []byte, v reflect.Value) (_ []byte, err error) {
			held := *v.Addr().Interface().(*offers.Devices)
			if held == nil {
				return append(out, 0), nil
			}
			out = binary.AppendUvarint(out, uint64(len(held))+1)
			for i := 0; i < len(held) && err == nil; i++ {
				out, err = grants.put(putString(out, held[i].Class), reflect.ValueOf(&held[i].Grants).Elem())
			}
			return out, err
		},
		get: func(in *reader, v reflect.Value) {
			n, some := in.count(1 + grants.least)
			if !some {
				return
			}
			held := make(offers.Devices, n)
			for i := 0; i < n && in.err == nil; i++ {
				held[i].Class = in.text()
				grants.get(in, reflect.ValueOf(&held[i].Grants).Elem())
				if i > 0 && held[i].Class <= held[i-1].Class {
					in.fail("a device class is there twice or out of order")
				}
			}
			*v.Addr().Interface().(*offers.Devices) = held
		},
		least: 1,
	}
}
