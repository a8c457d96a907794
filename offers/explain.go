package offers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Explain says err, which the standard decoder returned for data, as one
// sentence that names the JSON field at fault and nothing of Go. fresh returns
// an empty value of the type that data was decoded into. It decodes field by
// field, since a type that reads itself can't know what it is called in its
// surroundings; it is for refusals only and costs about what decoding costs.
func Explain(data []byte, fresh func() any, err error) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return plainly("", err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one := append(append([]byte(`{`), quoted(name)...), ':')
		one = append(append(one, fields[name]...), '}')
		if at := json.Unmarshal(one, fresh()); at != nil {
			return plainly(name, at)
		}
	}
	return plainly("", err)
}

func quoted(name string) []byte {
	out, err := json.Marshal(name)
	if err != nil {
		panic("offers: a string can't be written as JSON: " + err.Error())
	}
	return out
}

func plainly(name string, err error) error {
	switch e := err.(type) {
	case *json.UnmarshalTypeError:
		where := asWritten(e.Field)
		if where == "" {
			where = clip(name)
		}
		if where == "" {
			return fmt.Errorf("a JSON object is needed, not %s", article(clip(e.Value)))
		}
		return fmt.Errorf("%s: %s can't stand here", where, clip(e.Value))
	case *json.SyntaxError:
		return fmt.Errorf("not JSON at byte %d: %w", e.Offset, err)
	}
	if name == "" || strings.HasPrefix(err.Error(), name+":") {
		return err
	}
	return fmt.Errorf("%s: %w", clip(name), err)
}

// asWritten returns the path of a field without the Go types that are embedded on
// the way, which begin with a capital as no name in a message does.
func asWritten(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool { return part != "" && part[0] >= 'A' && part[0] <= 'Z' })
	return strings.Join(parts, ".")
}

func article(kind string) string {
	if kind == "array" {
		return "an " + kind
	}
	return "a " + kind
}
