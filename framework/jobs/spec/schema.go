package spec

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Schema returns the JSON schema of a job file, for editors. It is made from
// the types that are decoded, so that both know the same keys; what only a
// whole job can be wrong in (names that fit each other, amounts in range) is
// for [Parse] to say.
func Schema() map[string]any {
	s := object(reflect.TypeFor[Job]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Ringmaster job"
	return s
}

func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range fieldsOf(t) {
		p := schemaOf(f.Type)
		if text := f.Tag.Get("doc"); text != "" {
			if def := f.Tag.Get("default"); def != "" {
				text += " (default: " + def + ")"
			}
			p["description"] = text
		}
		if words := f.Tag.Get("enum"); words != "" {
			p["enum"] = anys(strings.Split(words, ","))
		}
		properties[f.Name] = p
		if tag := f.Tag.Get("json"); !strings.Contains(tag, ",omit") {
			required = append(required, f.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// types returns a schema of any of the JSON types.
func types(names ...string) map[string]any { return map[string]any{"type": anys(names)} }

func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// word is what may stand where a text is wanted: YAML reads 9 as a number.
func word() map[string]any { return types("string", "number", "boolean") }

func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[Resources]():
		return resourcesSchema()
	case reflect.TypeFor[offers.Duration]():
		return types("string", "number")
	case reflect.TypeFor[offers.Constraint]():
		return types("string")
	case reflect.TypeFor[offers.ContainerPort]():
		return types("integer", "string")
	case reflect.TypeFor[offers.Pull]():
		return map[string]any{"enum": []any{offers.PullMissing, offers.PullAlways, offers.PullNever}}
	case reflect.TypeFor[Command]():
		return map[string]any{"oneOf": []any{types("string"), list(word())}}
	case reflect.TypeFor[Each]():
		from := map[string]any{"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1, "properties": map[string]any{
			"lines": map[string]any{"type": "string", "description": "a file below the job file's folder, one item a line"},
			"files": map[string]any{"type": "string", "description": "a pattern below the job file's folder, such as data/*.csv"},
		}}
		return map[string]any{"oneOf": []any{list(word()), from}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return object(t)
	case reflect.Slice:
		return list(schemaOf(t.Elem()))
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": word()}
	case reflect.Bool:
		return types("boolean")
	case reflect.Float64:
		return types("number")
	case reflect.String:
		return word()
	}
	return types("integer")
}

func resourcesSchema() map[string]any {
	amount := func() map[string]any { return types("number", "string") }
	ask := map[string]any{"type": "object", "additionalProperties": false, "minProperties": 1, "properties": map[string]any{
		"count": types("integer"), "memory": amount(), "share": amount(),
	}}
	properties := map[string]any{}
	for _, f := range resourceKinds() {
		p := amount()
		switch f.Name {
		case "ports":
			p = map[string]any{"oneOf": []any{types("integer"), list(types("integer", "string"))}}
		case "gpu":
			p = map[string]any{"oneOf": []any{types("integer"), ask}}
		case "devices":
			p = map[string]any{"type": "object", "additionalProperties": ask}
		}
		p["description"] = f.Tag.Get("doc")
		properties[f.Name] = p
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// SchemaText returns the schema as indented JSON.
func SchemaText() []byte {
	text, err := json.MarshalIndent(Schema(), "", " ")
	if err != nil {
		panic("spec: the schema can't be written as JSON: " + err.Error())
	}
	return append(text, '\n')
}
