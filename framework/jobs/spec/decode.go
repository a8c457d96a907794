package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/ringmaster-project/ringmaster/offers"
	"github.com/ringmaster-project/ringmaster/offers/spell"
)

// decoder lays a YAML tree over the types of this package, field by field, so
// that every complaint has its place. It follows their json tags: what it
// takes is what [Schema] describes and what JSON of the same shape means.
type decoder struct {
	places map[string]ast.Node // of every field that was read
}

func (d *decoder) job(root ast.Node, j *Job) error {
	if !section(root) {
		return mistake(root, "", "a job is a section of KEY: VALUE lines, such as name: hello")
	}
	if err := d.fields(root, "", reflect.ValueOf(j).Elem()); err != nil {
		return err
	}
	return nil
}

// fields reads a section into a struct.
func (d *decoder) fields(n ast.Node, path string, v reflect.Value) *Error {
	if !section(n) {
		return mistake(n, path, "it is a section of KEY: VALUE lines")
	}
	known := fieldsOf(v.Type())
	seen := map[string]bool{}
	for _, e := range entries(n) {
		name, err := key(e, path)
		if err != nil {
			return err
		}
		at := join(path, name)
		i := find(known, name)
		if i < 0 {
			return unknown(e, path, name, namesOf(known))
		}
		if seen[name] {
			return mistake(e.Key, at, "it is given twice")
		}
		seen[name] = true
		d.places[at] = e.Key
		if err := d.value(e.Value, at, v.FieldByIndex(known[i].Index)); err != nil {
			if err.Line == 0 {
				err.at(e.Key)
			}
			return err
		}
	}
	return nil
}

func unknown(e *ast.MappingValueNode, path, name string, known []string) *Error {
	text := fmt.Sprintf("unknown key %.60s", name)
	if meant := spell.Nearest(name, known); meant != "" {
		text += fmt.Sprintf("; did you mean %s?", meant)
	} else {
		text += "; known are " + strings.Join(known, ", ")
	}
	return mistake(e.Key, path, "%s", text)
}

var decodes = reflect.TypeFor[json.Unmarshaler]()

// value reads one value.
func (d *decoder) value(n ast.Node, path string, v reflect.Value) *Error {
	if n == nil || n.Type() == ast.NullType {
		return mistake(n, path, "it has no value")
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, path, v.Elem())
	}
	switch {
	case v.Type() == reflect.TypeFor[Resources]():
		return d.resources(n, path, v.Addr().Interface().(*Resources))
	case v.Addr().Type().Implements(decodes):
		return d.custom(n, path, v.Addr().Interface().(json.Unmarshaler))
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.fields(n, path, v)
	case reflect.Slice:
		return d.list(n, path, v)
	case reflect.Map:
		return d.pairs(n, path, v)
	}
	return d.one(n, path, v)
}

// one reads a text, a number, or true or false.
func (d *decoder) one(n ast.Node, path string, v reflect.Value) *Error {
	text, err := scalar(n, path)
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return mistake(n, path, "%.60q is not true or false", text)
		}
		v.SetBool(b.Value)
	case reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return mistake(n, path, "%.60q is not a number", text)
		}
		v.SetFloat(number)
	default:
		var number int
		if _, ok := n.(*ast.IntegerNode); !ok || json.Unmarshal([]byte(text), &number) != nil {
			return mistake(n, path, "%.60q is not a whole number", text)
		}
		v.SetInt(int64(number))
	}
	return nil
}

func (d *decoder) list(n ast.Node, path string, v reflect.Value) *Error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return mistake(n, path, "it is a list, each item on a line with a dash")
	}
	out := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, item := range list.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.places[at] = item
		if err := d.value(item, at, out.Index(i)); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

// pairs reads a section whose keys are free and whose values are texts.
func (d *decoder) pairs(n ast.Node, path string, v reflect.Value) *Error {
	if !section(n) {
		return mistake(n, path, "it is a section of KEY: VALUE lines")
	}
	out := map[string]string{}
	for _, e := range entries(n) {
		name, err := key(e, path)
		if err != nil {
			return err
		}
		at := join(path, name)
		if _, twice := out[name]; twice {
			return mistake(e.Key, at, "it is given twice")
		}
		d.places[at] = e.Key
		if out[name], err = scalar(e.Value, at); err != nil {
			return err
		}
	}
	v.Set(reflect.ValueOf(out))
	return nil
}

// custom reads what reads itself from JSON.
func (d *decoder) custom(n ast.Node, path string, v json.Unmarshaler) *Error {
	var texts bool
	switch v.(type) {
	case *Command, *Each:
		texts = true // sleep 10, and not the number ten
	}
	value, err := plain(n, path, texts)
	if err != nil {
		return err
	}
	text, jsonErr := json.Marshal(value)
	if jsonErr == nil {
		jsonErr = v.UnmarshalJSON(text)
	}
	if jsonErr != nil {
		return mistake(n, path, "%s", strings.TrimPrefix(jsonErr.Error(), "ports: "))
	}
	return nil
}

// resources reads amounts one by one, so that the mistake has its line. GPUs
// are so common that they may stand without the section devices.
func (d *decoder) resources(n ast.Node, path string, r *Resources) *Error {
	if !section(n) {
		return mistake(n, path, "it is a section of amounts, such as cpus: 2")
	}
	known := resourceKinds()
	for _, e := range entries(n) {
		name, err := key(e, path)
		if err != nil {
			return err
		}
		at := join(path, name)
		if find(known, name) < 0 {
			return unknown(e, path, name, namesOf(known))
		}
		if d.places[at] != nil {
			return mistake(e.Key, at, "it is given twice")
		}
		d.places[at] = e.Key
		value, err := plain(e.Value, at, false)
		if err != nil {
			return err
		}
		if err := cmp.Or(addKind(r, name, value), wantUnit(name, value)); err != nil {
			return mistake(e.Value, at, "%s", strings.TrimPrefix(err.Error(), name+": "))
		}
	}
	return nil
}

// wantUnit refuses a size that was written as a number and can't be meant so.
// Classes of devices other than gpu may be counted in what they like.
func wantUnit(name string, value any) error {
	section, _ := value.(map[string]any)
	switch name {
	case "devices":
		return wantUnit("gpu", section["gpu"])
	case "gpu":
		value = section["memory"]
	case "mem", "disk":
	default:
		return nil
	}
	text := fmt.Sprint(value)
	n, err := offers.ParseSize(text)
	if err != nil {
		return nil // it is no size, or there is none
	}
	return offers.WantUnit(text, n)
}

func addKind(r *Resources, name string, value any) error {
	if name == "gpu" {
		if n, whole := value.(uint64); whole {
			value = map[string]any{"count": n}
		}
		name, value = "devices", map[string]any{"gpu": value}
	}
	text, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return err
	}
	var one Resources
	if err := json.Unmarshal(text, &one); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "devices: devices.gpu: "))
	}
	for k, n := range one.Amounts {
		r.Amounts[k] += n
	}
	if one.Ports != nil {
		r.Ports = one.Ports
	}
	if one.AnyPorts > 0 {
		r.AnyPorts, r.PortNames = one.AnyPorts, one.PortNames
	}
	for class, ask := range one.Devices {
		if r.Devices == nil {
			r.Devices = map[string]offers.DeviceAsk{}
		}
		if _, twice := r.Devices[class]; twice {
			return fmt.Errorf("%s is given twice", class)
		}
		r.Devices[class] = ask
	}
	return nil
}
