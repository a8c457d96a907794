package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func jsonPlan(t reflect.Type) *plan {
	mayMiss := t.Kind() == reflect.Slice || t.Kind() == reflect.String
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			if mayMiss && v.Len() == 0 {
				return append(out, 0), nil
			}
			text, err := json.Marshal(v.Addr().Interface())
			if err != nil {
				return nil, err
			}
			return append(binary.AppendUvarint(out, uint64(len(text))), text...), nil
		},
		get: func(in *reader, v reflect.Value) {
			text := in.text()
			if text == "" && mayMiss {
				return
			}
			if err := json.Unmarshal([]byte(text), v.Addr().Interface()); err != nil {
				in.fail("%w", err)
			}
		},
		least: 1,
	}
}

func pointerPlan(t reflect.Type) *plan {
	to := planOf(t.Elem())
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return append(out, 0), nil
			}
			return to.put(append(out, 1), v.Elem())
		},
		get: func(in *reader, v reflect.Value) {
			if in.byte() != 0 {
				made := reflect.New(t.Elem())
				to.get(in, made.Elem())
				v.Set(made)
			}
		},
		least: 1,
	}
}

func slicePlan(t reflect.Type) *plan {
	of := planOf(t.Elem())
	apart, least := t.Elem().Kind() == reflect.Struct, of.least
	if apart {
		of, least = apartPlan(of), least+1
	}
	return &plan{
		put: func(out []byte, v reflect.Value) (_ []byte, err error) {
			if v.IsNil() {
				return append(out, 0), nil
			}
			out = binary.AppendUvarint(out, uint64(v.Len())+1)
			for i := 0; i < v.Len() && err == nil; i++ {
				out, err = of.put(out, v.Index(i))
			}
			return out, err
		},
		get: func(in *reader, v reflect.Value) {
			n, some := in.count(least)
			if !some {
				return
			}
			made := reflect.MakeSlice(t, n, n)
			for i := 0; i < n && in.err == nil; i++ {
				of.get(in, made.Index(i))
			}
			v.Set(made)
		},
		least: 1,
	}
}

// apartPlan is that of an element of a slice that has its length before it, and
// whose texts are apart from those of the others: one that is kept must not keep
// all of them.
func apartPlan(of *plan) *plan {
	return &plan{
		put: func(out []byte, v reflect.Value) ([]byte, error) {
			from := len(out)
			out, err := of.put(append(out, 0), v)
			if err != nil {
				return nil, err
			}
			return insertLength(out, from), nil
		},
		get: func(in *reader, v reflect.Value) {
			one := reader{rest: strings.Clone(in.take(in.uvarint()))}
			of.get(&one, v)
			switch {
			case one.err != nil:
				in.fail("%w", one.err)
			case one.rest != "":
				in.fail("%d bytes of an element are left over", len(one.rest))
			}
		},
	}
}

// insertLength puts the length of what is behind out[at] there, which has one
// byte of room for it.
func insertLength(out []byte, at int) []byte {
	n := len(out) - at - 1
	if n < 0x80 {
		out[at] = byte(n)
		return out
	}
	var length [binary.MaxVarintLen64]byte
	return slices.Replace(out, at, at+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
}

func mapPlan(t reflect.Type) *plan {
	key, value := planOf(t.Key()), planOf(t.Elem())
	return &plan{
		put: func(out []byte, v reflect.Value) (_ []byte, err error) {
			if v.IsNil() {
				return append(out, 0), nil
			}
			out = binary.AppendUvarint(out, uint64(v.Len())+1)
			// Neither keys nor values of a map have an address, which some plans need.
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			for _, each := range sortedKeys(v) {
				k.Set(each)
				e.Set(v.MapIndex(each))
				if out, err = key.put(out, k); err == nil {
					out, err = value.put(out, e)
				}
				if err != nil {
					return nil, err
				}
			}
			return out, nil
		},
		get: func(in *reader, v reflect.Value) {
			n, some := in.count(key.least + value.least)
			if !some {
				return
			}
			made := reflect.MakeMapWithSize(t, n)
			for i := 0; i < n && in.err == nil; i++ {
				k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				key.get(in, k)
				value.get(in, e)
				made.SetMapIndex(k, e)
			}
			v.Set(made)
		},
		least: 1,
	}
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	if len(keys) > 1 {
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if a.Kind() == reflect.String {
				return strings.Compare(a.String(), b.String())
			}
			return int(a.Int() - b.Int())
		})
	}
	return keys
}

// field is one of a struct.
type field struct {
	at    int
	plan  *plan
	empty bool // an empty slice or map is left out of JSON, and so read as nil
}

func structPlan(t reflect.Type, check func(reflect.Value) error) *plan {
	var fields []field
	least := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			panic(fmt.Sprintf("wire: %v.%s has no binary form", t, f.Name))
		}
		p := planOf(f.Type)
		tag := f.Tag.Get("json") // a type without tags has JSON of its own, which leaves out what is empty
		empty := (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map) && (tag == "" || strings.HasSuffix(tag, ",omitempty"))
		fields = append(fields, field{i, p, empty})
		least += p.least
	}
	return &plan{
		put: func(out []byte, v reflect.Value) (_ []byte, err error) {
			for i := range fields {
				f := &fields[i]
				of := v.Field(f.at)
				if f.empty && of.Len() == 0 {
					out = append(out, 0)
					continue
				}
				if out, err = f.plan.put(out, of); err != nil {
					return nil, fmt.Errorf("%s: %w", t.Field(f.at).Name, err)
				}
			}
			return out, nil
		},
		get: func(in *reader, v reflect.Value) {
			for i := range fields {
				if in.err != nil {
					return
				}
				fields[i].plan.get(in, v.Field(fields[i].at))
			}
			if check != nil && in.err == nil {
				if err := check(v); err != nil {
					in.fail("%w", err)
				}
			}
		},
		least: least,
	}
}
